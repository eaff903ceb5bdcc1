#ifdef INDUCTOR_IMPLEMENTATION
#define INDUCTOR_IR_IMPLEMENTATION
#endif
/* inductor_ir.h - the base of the inductor headers: context, symbolic integers, loop bodies, buffers.

   Do this in *one* .c file (C11) to create the implementation:

       #define INDUCTOR_IR_IMPLEMENTATION
       #include "inductor_ir.h"

   Most users include inductor.h instead, which brings all five headers.

   What is here
       - a context that owns memory, the last error and all interned symbols and expressions;
       - `ind_expr`, an immutable hash-consed integer expression: sizes, strides, offsets, loop indices;
       - loop bodies: the per-element computation of a kernel, recorded once from a C function (define by run);
       - boxes (TensorBox -> view -> storage), which turn ops on tensors into loops and choose the stored results;
       - a verifier, a printer and an evaluator of bodies.

   What it does not do: no globals, no abort, no printing, no floating-point symbols, no autograd.

   Optional macros, defined before the headers
       IND_API        linkage of every public function (default: extern)
       IND_PREFIX     all external symbols begin with it; defined in all files that include the headers

   Contents (search for the anchor)
       >>config >>status >>context >>dtype >>expr >>ops >>body >>layout >>loops >>text >>eval >>internal >>packed
       implementation: >>threads >>memory >>string >>intern >>simplify >>facts >>assume >>import >>index >>expr-text
       >>program >>simplify >>record >>replay >>boxes >>realise >>verify >>print
       >>evaluate
*/
#ifndef INDUCTOR_IR_H
#define INDUCTOR_IR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ================================================================================================== src/ir/prefix.h */
/* With IND_PREFIX, as in -DIND_PREFIX=mine_, all external symbols of the headers begin with it. Two versions of the
   library can then be in one program. All files that include the headers need the same prefix. tools/symbols.py writes
   these macros. */
#ifdef IND_PREFIX
#define IND__JOINED(prefix, name) prefix##name
#define IND__JOIN(prefix, name)   IND__JOINED(prefix, name)
#define IND__PREFIXED(name)       IND__JOIN(IND_PREFIX, name)
/* clang-format off */
#define ind__affine IND__PREFIXED(ind__affine)
#define ind__align_up IND__PREFIXED(ind__align_up)
#define ind__alloc IND__PREFIXED(ind__alloc)
#define ind__arena_alloc IND__PREFIXED(ind__arena_alloc)
#define ind__arena_copy IND__PREFIXED(ind__arena_copy)
#define ind__arena_free IND__PREFIXED(ind__arena_free)
#define ind__arena_string IND__PREFIXED(ind__arena_string)
#define ind__bf16_to_f32 IND__PREFIXED(ind__bf16_to_f32)
#define ind__body_free IND__PREFIXED(ind__body_free)
#define ind__body_needs_host IND__PREFIXED(ind__body_needs_host)
#define ind__body_print IND__PREFIXED(ind__body_print)
#define ind__body_replay IND__PREFIXED(ind__body_replay)
#define ind__body_scan IND__PREFIXED(ind__body_scan)
#define ind__body_sort IND__PREFIXED(ind__body_sort)
#define ind__body_splits IND__PREFIXED(ind__body_splits)
#define ind__body_unbacked IND__PREFIXED(ind__body_unbacked)
#define ind__body_verify IND__PREFIXED(ind__body_verify)
#define ind__box_buffer IND__PREFIXED(ind__box_buffer)
#define ind__box_call IND__PREFIXED(ind__box_call)
#define ind__box_combine IND__PREFIXED(ind__box_combine)
#define ind__box_copy IND__PREFIXED(ind__box_copy)
#define ind__box_load IND__PREFIXED(ind__box_load)
#define ind__box_mark_use IND__PREFIXED(ind__box_mark_use)
#define ind__box_output IND__PREFIXED(ind__box_output)
#define ind__box_pointwise IND__PREFIXED(ind__box_pointwise)
#define ind__box_put_last IND__PREFIXED(ind__box_put_last)
#define ind__box_realise IND__PREFIXED(ind__box_realise)
#define ind__box_reduction IND__PREFIXED(ind__box_reduction)
#define ind__box_reshape IND__PREFIXED(ind__box_reshape)
#define ind__box_scan IND__PREFIXED(ind__box_scan)
#define ind__box_scatter IND__PREFIXED(ind__box_scatter)
#define ind__box_view IND__PREFIXED(ind__box_view)
#define ind__buffer_bytes IND__PREFIXED(ind__buffer_bytes)
#define ind__buffer_home IND__PREFIXED(ind__buffer_home)
#define ind__buffer_most_bytes IND__PREFIXED(ind__buffer_most_bytes)
#define ind__buffer_numel IND__PREFIXED(ind__buffer_numel)
#define ind__by_vectors IND__PREFIXED(ind__by_vectors)
#define ind__call_needs IND__PREFIXED(ind__call_needs)
#define ind__can_scatter IND__PREFIXED(ind__can_scatter)
#define ind__context_fork IND__PREFIXED(ind__context_fork)
#define ind__context_leave IND__PREFIXED(ind__context_leave)
#define ind__delinearise IND__PREFIXED(ind__delinearise)
#define ind__disown IND__PREFIXED(ind__disown)
#define ind__element_order IND__PREFIXED(ind__element_order)
#define ind__emit1 IND__PREFIXED(ind__emit1)
#define ind__emit2 IND__PREFIXED(ind__emit2)
#define ind__emit_call IND__PREFIXED(ind__emit_call)
#define ind__emit_combine_scan IND__PREFIXED(ind__emit_combine_scan)
#define ind__emit_load IND__PREFIXED(ind__emit_load)
#define ind__emit_part IND__PREFIXED(ind__emit_part)
#define ind__emit_reduce IND__PREFIXED(ind__emit_reduce)
#define ind__emit_scan IND__PREFIXED(ind__emit_scan)
#define ind__emit_scan_part IND__PREFIXED(ind__emit_scan_part)
#define ind__emit_scatter IND__PREFIXED(ind__emit_scatter)
#define ind__emit_state IND__PREFIXED(ind__emit_state)
#define ind__emit_store IND__PREFIXED(ind__emit_store)
#define ind__eval_begin_runs IND__PREFIXED(ind__eval_begin_runs)
#define ind__eval_compile IND__PREFIXED(ind__eval_compile)
#define ind__eval_free IND__PREFIXED(ind__eval_free)
#define ind__eval_index IND__PREFIXED(ind__eval_index)
#define ind__eval_init IND__PREFIXED(ind__eval_init)
#define ind__eval_run IND__PREFIXED(ind__eval_run)
#define ind__eval_set_var IND__PREFIXED(ind__eval_set_var)
#define ind__eval_set_var_lanes IND__PREFIXED(ind__eval_set_var_lanes)
#define ind__eval_spread IND__PREFIXED(ind__eval_spread)
#define ind__exact_quotient IND__PREFIXED(ind__exact_quotient)
#define ind__expr_depends IND__PREFIXED(ind__expr_depends)
#define ind__expr_divisions IND__PREFIXED(ind__expr_divisions)
#define ind__expr_has_kind IND__PREFIXED(ind__expr_has_kind)
#define ind__expr_is_size IND__PREFIXED(ind__expr_is_size)
#define ind__expr_parse IND__PREFIXED(ind__expr_parse)
#define ind__expr_rebuild IND__PREFIXED(ind__expr_rebuild)
#define ind__expr_rule_fired IND__PREFIXED(ind__expr_rule_fired)
#define ind__expr_rule_name IND__PREFIXED(ind__expr_rule_name)
#define ind__expr_symbols IND__PREFIXED(ind__expr_symbols)
#define ind__extern_find IND__PREFIXED(ind__extern_find)
#define ind__extern_register IND__PREFIXED(ind__extern_register)
#define ind__f16_to_f32 IND__PREFIXED(ind__f16_to_f32)
#define ind__f32_to_bf16 IND__PREFIXED(ind__f32_to_bf16)
#define ind__f32_to_f16 IND__PREFIXED(ind__f32_to_f16)
#define ind__f32_to_f8e4m3fn IND__PREFIXED(ind__f32_to_f8e4m3fn)
#define ind__f32_to_f8e5m2 IND__PREFIXED(ind__f32_to_f8e5m2)
#define ind__f8e4m3fn_to_f32 IND__PREFIXED(ind__f8e4m3fn_to_f32)
#define ind__f8e5m2_to_f32 IND__PREFIXED(ind__f8e5m2_to_f32)
#define ind__fail IND__PREFIXED(ind__fail)
#define ind__failed IND__PREFIXED(ind__failed)
#define ind__format IND__PREFIXED(ind__format)
#define ind__format_list IND__PREFIXED(ind__format_list)
#define ind__free IND__PREFIXED(ind__free)
#define ind__function_declare IND__PREFIXED(ind__function_declare)
#define ind__function_find IND__PREFIXED(ind__function_find)
#define ind__function_print_signature IND__PREFIXED(ind__function_print_signature)
#define ind__function_takes IND__PREFIXED(ind__function_takes)
#define ind__grow IND__PREFIXED(ind__grow)
#define ind__hash IND__PREFIXED(ind__hash)
#define ind__import_begin IND__PREFIXED(ind__import_begin)
#define ind__import_body IND__PREFIXED(ind__import_body)
#define ind__import_end IND__PREFIXED(ind__import_end)
#define ind__import_expr IND__PREFIXED(ind__import_expr)
#define ind__import_facts IND__PREFIXED(ind__import_facts)
#define ind__in_context IND__PREFIXED(ind__in_context)
#define ind__index_symbol IND__PREFIXED(ind__index_symbol)
#define ind__indirect_symbol IND__PREFIXED(ind__indirect_symbol)
#define ind__known_bounds IND__PREFIXED(ind__known_bounds)
#define ind__known_le_max IND__PREFIXED(ind__known_le_max)
#define ind__linearise IND__PREFIXED(ind__linearise)
#define ind__lists_lock IND__PREFIXED(ind__lists_lock)
#define ind__lists_unlock IND__PREFIXED(ind__lists_unlock)
#define ind__lock IND__PREFIXED(ind__lock)
#define ind__log IND__PREFIXED(ind__log)
#define ind__loop_op_arity IND__PREFIXED(ind__loop_op_arity)
#define ind__loop_op_class IND__PREFIXED(ind__loop_op_class)
#define ind__loop_op_name IND__PREFIXED(ind__loop_op_name)
#define ind__loops_drop_ones IND__PREFIXED(ind__loops_drop_ones)
#define ind__loops_init IND__PREFIXED(ind__loops_init)
#define ind__loops_join IND__PREFIXED(ind__loops_join)
#define ind__loops_merge IND__PREFIXED(ind__loops_merge)
#define ind__loops_split IND__PREFIXED(ind__loops_split)
#define ind__loops_split_size IND__PREFIXED(ind__loops_split_size)
#define ind__lowered_fix_layouts IND__PREFIXED(ind__lowered_fix_layouts)
#define ind__lowered_free IND__PREFIXED(ind__lowered_free)
#define ind__lowered_free_boxes IND__PREFIXED(ind__lowered_free_boxes)
#define ind__lowered_init IND__PREFIXED(ind__lowered_init)
#define ind__lowered_input IND__PREFIXED(ind__lowered_input)
#define ind__lowered_print IND__PREFIXED(ind__lowered_print)
#define ind__lowered_split IND__PREFIXED(ind__lowered_split)
#define ind__lowered_verify IND__PREFIXED(ind__lowered_verify)
#define ind__most IND__PREFIXED(ind__most)
#define ind__neutral_float IND__PREFIXED(ind__neutral_float)
#define ind__neutral_int IND__PREFIXED(ind__neutral_int)
#define ind__num_exprs IND__PREFIXED(ind__num_exprs)
#define ind__op_packed IND__PREFIXED(ind__op_packed)
#define ind__own IND__PREFIXED(ind__own)
#define ind__parse_double IND__PREFIXED(ind__parse_double)
#define ind__print_made IND__PREFIXED(ind__print_made)
#define ind__program_add IND__PREFIXED(ind__program_add)
#define ind__program_close IND__PREFIXED(ind__program_close)
#define ind__program_free IND__PREFIXED(ind__program_free)
#define ind__program_init IND__PREFIXED(ind__program_init)
#define ind__program_run IND__PREFIXED(ind__program_run)
#define ind__record_abort IND__PREFIXED(ind__record_abort)
#define ind__record_begin IND__PREFIXED(ind__record_begin)
#define ind__record_end IND__PREFIXED(ind__record_end)
#define ind__reduction_name IND__PREFIXED(ind__reduction_name)
#define ind__reduction_results IND__PREFIXED(ind__reduction_results)
#define ind__refusals IND__PREFIXED(ind__refusals)
#define ind__refused_since IND__PREFIXED(ind__refused_since)
#define ind__resize IND__PREFIXED(ind__resize)
#define ind__run_base IND__PREFIXED(ind__run_base)
#define ind__scan_name IND__PREFIXED(ind__scan_name)
#define ind__scan_results IND__PREFIXED(ind__scan_results)
#define ind__scan_sorts IND__PREFIXED(ind__scan_sorts)
#define ind__size_mul IND__PREFIXED(ind__size_mul)
#define ind__state_of IND__PREFIXED(ind__state_of)
#define ind__substitute IND__PREFIXED(ind__substitute)
#define ind__text_double IND__PREFIXED(ind__text_double)
#define ind__text_expr IND__PREFIXED(ind__text_expr)
#define ind__text_expr_c IND__PREFIXED(ind__text_expr_c)
#define ind__text_free IND__PREFIXED(ind__text_free)
#define ind__text_json IND__PREFIXED(ind__text_json)
#define ind__text_raw IND__PREFIXED(ind__text_raw)
#define ind__text_status IND__PREFIXED(ind__text_status)
#define ind__textf IND__PREFIXED(ind__textf)
#define ind__unbacked_in IND__PREFIXED(ind__unbacked_in)
#define ind__unlock IND__PREFIXED(ind__unlock)
#define ind__verifying IND__PREFIXED(ind__verifying)
#define ind__wrap_int IND__PREFIXED(ind__wrap_int)
#define ind_bounds IND__PREFIXED(ind_bounds)
#define ind_context_create IND__PREFIXED(ind_context_create)
#define ind_context_destroy IND__PREFIXED(ind_context_destroy)
#define ind_context_query_desc IND__PREFIXED(ind_context_query_desc)
#define ind_dtype_bytes IND__PREFIXED(ind_dtype_bytes)
#define ind_dtype_compute IND__PREFIXED(ind_dtype_compute)
#define ind_dtype_is_float IND__PREFIXED(ind_dtype_is_float)
#define ind_dtype_is_integer IND__PREFIXED(ind_dtype_is_integer)
#define ind_dtype_name IND__PREFIXED(ind_dtype_name)
#define ind_dtype_parse IND__PREFIXED(ind_dtype_parse)
#define ind_dtype_promote IND__PREFIXED(ind_dtype_promote)
#define ind_error IND__PREFIXED(ind_error)
#define ind_error_status IND__PREFIXED(ind_error_status)
#define ind_expr_add IND__PREFIXED(ind_expr_add)
#define ind_expr_and IND__PREFIXED(ind_expr_and)
#define ind_expr_arg IND__PREFIXED(ind_expr_arg)
#define ind_expr_bounds IND__PREFIXED(ind_expr_bounds)
#define ind_expr_ceildiv IND__PREFIXED(ind_expr_ceildiv)
#define ind_expr_contiguity IND__PREFIXED(ind_expr_contiguity)
#define ind_expr_eq IND__PREFIXED(ind_expr_eq)
#define ind_expr_eval IND__PREFIXED(ind_expr_eval)
#define ind_expr_floordiv IND__PREFIXED(ind_expr_floordiv)
#define ind_expr_is_int IND__PREFIXED(ind_expr_is_int)
#define ind_expr_le IND__PREFIXED(ind_expr_le)
#define ind_expr_lt IND__PREFIXED(ind_expr_lt)
#define ind_expr_max IND__PREFIXED(ind_expr_max)
#define ind_expr_max_of IND__PREFIXED(ind_expr_max_of)
#define ind_expr_min IND__PREFIXED(ind_expr_min)
#define ind_expr_min_of IND__PREFIXED(ind_expr_min_of)
#define ind_expr_mod IND__PREFIXED(ind_expr_mod)
#define ind_expr_modular IND__PREFIXED(ind_expr_modular)
#define ind_expr_mul IND__PREFIXED(ind_expr_mul)
#define ind_expr_ne IND__PREFIXED(ind_expr_ne)
#define ind_expr_neg IND__PREFIXED(ind_expr_neg)
#define ind_expr_not IND__PREFIXED(ind_expr_not)
#define ind_expr_num_args IND__PREFIXED(ind_expr_num_args)
#define ind_expr_or IND__PREFIXED(ind_expr_or)
#define ind_expr_parse IND__PREFIXED(ind_expr_parse)
#define ind_expr_print IND__PREFIXED(ind_expr_print)
#define ind_expr_print_as IND__PREFIXED(ind_expr_print_as)
#define ind_expr_product IND__PREFIXED(ind_expr_product)
#define ind_expr_query_kind IND__PREFIXED(ind_expr_query_kind)
#define ind_expr_same IND__PREFIXED(ind_expr_same)
#define ind_expr_solve IND__PREFIXED(ind_expr_solve)
#define ind_expr_stride IND__PREFIXED(ind_expr_stride)
#define ind_expr_sub IND__PREFIXED(ind_expr_sub)
#define ind_expr_substitute IND__PREFIXED(ind_expr_substitute)
#define ind_expr_sum IND__PREFIXED(ind_expr_sum)
#define ind_expr_symbol IND__PREFIXED(ind_expr_symbol)
#define ind_expr_where IND__PREFIXED(ind_expr_where)
#define ind_extern_register IND__PREFIXED(ind_extern_register)
#define ind_facts_assume IND__PREFIXED(ind_facts_assume)
#define ind_facts_check IND__PREFIXED(ind_facts_check)
#define ind_facts_create IND__PREFIXED(ind_facts_create)
#define ind_facts_destroy IND__PREFIXED(ind_facts_destroy)
#define ind_facts_enter IND__PREFIXED(ind_facts_enter)
#define ind_facts_num_declared IND__PREFIXED(ind_facts_num_declared)
#define ind_facts_num_guards IND__PREFIXED(ind_facts_num_guards)
#define ind_facts_query_declared IND__PREFIXED(ind_facts_query_declared)
#define ind_facts_query_guard IND__PREFIXED(ind_facts_query_guard)
#define ind_function_register IND__PREFIXED(ind_function_register)
#define ind_guard IND__PREFIXED(ind_guard)
#define ind_hint IND__PREFIXED(ind_hint)
#define ind_int IND__PREFIXED(ind_int)
#define ind_known IND__PREFIXED(ind_known)
#define ind_known_disjoint IND__PREFIXED(ind_known_disjoint)
#define ind_known_divisor IND__PREFIXED(ind_known_divisor)
#define ind_known_eq IND__PREFIXED(ind_known_eq)
#define ind_known_le IND__PREFIXED(ind_known_le)
#define ind_known_lt IND__PREFIXED(ind_known_lt)
#define ind_known_multiple IND__PREFIXED(ind_known_multiple)
#define ind_known_true IND__PREFIXED(ind_known_true)
#define ind_op_abs IND__PREFIXED(ind_op_abs)
#define ind_op_acos IND__PREFIXED(ind_op_acos)
#define ind_op_acosh IND__PREFIXED(ind_op_acosh)
#define ind_op_add IND__PREFIXED(ind_op_add)
#define ind_op_and IND__PREFIXED(ind_op_and)
#define ind_op_asin IND__PREFIXED(ind_op_asin)
#define ind_op_asinh IND__PREFIXED(ind_op_asinh)
#define ind_op_atan IND__PREFIXED(ind_op_atan)
#define ind_op_atan2 IND__PREFIXED(ind_op_atan2)
#define ind_op_atanh IND__PREFIXED(ind_op_atanh)
#define ind_op_bit_and IND__PREFIXED(ind_op_bit_and)
#define ind_op_bit_or IND__PREFIXED(ind_op_bit_or)
#define ind_op_bit_xor IND__PREFIXED(ind_op_bit_xor)
#define ind_op_call IND__PREFIXED(ind_op_call)
#define ind_op_cast IND__PREFIXED(ind_op_cast)
#define ind_op_ceil IND__PREFIXED(ind_op_ceil)
#define ind_op_constant IND__PREFIXED(ind_op_constant)
#define ind_op_constant_int IND__PREFIXED(ind_op_constant_int)
#define ind_op_context IND__PREFIXED(ind_op_context)
#define ind_op_copysign IND__PREFIXED(ind_op_copysign)
#define ind_op_cos IND__PREFIXED(ind_op_cos)
#define ind_op_cosh IND__PREFIXED(ind_op_cosh)
#define ind_op_digamma IND__PREFIXED(ind_op_digamma)
#define ind_op_div IND__PREFIXED(ind_op_div)
#define ind_op_dtype IND__PREFIXED(ind_op_dtype)
#define ind_op_eq IND__PREFIXED(ind_op_eq)
#define ind_op_erf IND__PREFIXED(ind_op_erf)
#define ind_op_erfc IND__PREFIXED(ind_op_erfc)
#define ind_op_erfinv IND__PREFIXED(ind_op_erfinv)
#define ind_op_exp IND__PREFIXED(ind_op_exp)
#define ind_op_exp2 IND__PREFIXED(ind_op_exp2)
#define ind_op_expm1 IND__PREFIXED(ind_op_expm1)
#define ind_op_floor IND__PREFIXED(ind_op_floor)
#define ind_op_fmod IND__PREFIXED(ind_op_fmod)
#define ind_op_gcd IND__PREFIXED(ind_op_gcd)
#define ind_op_ge IND__PREFIXED(ind_op_ge)
#define ind_op_gt IND__PREFIXED(ind_op_gt)
#define ind_op_hypot IND__PREFIXED(ind_op_hypot)
#define ind_op_i0e IND__PREFIXED(ind_op_i0e)
#define ind_op_i1e IND__PREFIXED(ind_op_i1e)
#define ind_op_igamma IND__PREFIXED(ind_op_igamma)
#define ind_op_igammac IND__PREFIXED(ind_op_igammac)
#define ind_op_index IND__PREFIXED(ind_op_index)
#define ind_op_indirect IND__PREFIXED(ind_op_indirect)
#define ind_op_j0 IND__PREFIXED(ind_op_j0)
#define ind_op_j1 IND__PREFIXED(ind_op_j1)
#define ind_op_le IND__PREFIXED(ind_op_le)
#define ind_op_lgamma IND__PREFIXED(ind_op_lgamma)
#define ind_op_load IND__PREFIXED(ind_op_load)
#define ind_op_log IND__PREFIXED(ind_op_log)
#define ind_op_log10 IND__PREFIXED(ind_op_log10)
#define ind_op_log1p IND__PREFIXED(ind_op_log1p)
#define ind_op_log2 IND__PREFIXED(ind_op_log2)
#define ind_op_lt IND__PREFIXED(ind_op_lt)
#define ind_op_masked IND__PREFIXED(ind_op_masked)
#define ind_op_maximum IND__PREFIXED(ind_op_maximum)
#define ind_op_minimum IND__PREFIXED(ind_op_minimum)
#define ind_op_mul IND__PREFIXED(ind_op_mul)
#define ind_op_ne IND__PREFIXED(ind_op_ne)
#define ind_op_neg IND__PREFIXED(ind_op_neg)
#define ind_op_nextafter IND__PREFIXED(ind_op_nextafter)
#define ind_op_not IND__PREFIXED(ind_op_not)
#define ind_op_or IND__PREFIXED(ind_op_or)
#define ind_op_philox IND__PREFIXED(ind_op_philox)
#define ind_op_pow IND__PREFIXED(ind_op_pow)
#define ind_op_reciprocal IND__PREFIXED(ind_op_reciprocal)
#define ind_op_rint IND__PREFIXED(ind_op_rint)
#define ind_op_rsqrt IND__PREFIXED(ind_op_rsqrt)
#define ind_op_shift_left IND__PREFIXED(ind_op_shift_left)
#define ind_op_shift_right IND__PREFIXED(ind_op_shift_right)
#define ind_op_sigmoid IND__PREFIXED(ind_op_sigmoid)
#define ind_op_sin IND__PREFIXED(ind_op_sin)
#define ind_op_sinh IND__PREFIXED(ind_op_sinh)
#define ind_op_sqrt IND__PREFIXED(ind_op_sqrt)
#define ind_op_sub IND__PREFIXED(ind_op_sub)
#define ind_op_tan IND__PREFIXED(ind_op_tan)
#define ind_op_tanh IND__PREFIXED(ind_op_tanh)
#define ind_op_trunc IND__PREFIXED(ind_op_trunc)
#define ind_op_where IND__PREFIXED(ind_op_where)
#define ind_op_y0 IND__PREFIXED(ind_op_y0)
#define ind_op_y1 IND__PREFIXED(ind_op_y1)
#define ind_op_zeta IND__PREFIXED(ind_op_zeta)
#define ind_simplify IND__PREFIXED(ind_simplify)
#define ind_status_text IND__PREFIXED(ind_status_text)
#define ind_symbol_expr IND__PREFIXED(ind_symbol_expr)
/* clang-format on */
#endif

/* ============================================================================================= src/ir/base/config.h */
/* ------------------------------------------------------------------------------------------------ >>config */

#ifndef IND_API
#define IND_API extern
#endif

#define IND_MAX_RANK 8 /* dimensions of a tensor; more give IND_ERROR_LIMIT with the op's name */

/* ============================================================================================= src/ir/base/status.h */
/* ------------------------------------------------------------------------------------------------ >>status */

/* Every function that can fail returns one of these; ind_error() gives the sentence that describes the failure. */
#define IND_STATUSES(X)                                                                                                \
    X(IND_OK, "ok")                                                                                                    \
    X(IND_ERROR_INVALID_ARGUMENT, "invalid argument")                                                                  \
    X(IND_ERROR_OUT_OF_MEMORY, "out of memory")                                                                        \
    X(IND_ERROR_NOT_SUPPORTED, "not supported")                                                                        \
    X(IND_ERROR_NOT_FOUND, "not found")                                                                                \
    X(IND_ERROR_SHAPE_MISMATCH, "shapes do not fit")                                                                   \
    X(IND_ERROR_TYPE_MISMATCH, "types do not fit")                                                                     \
    X(IND_ERROR_OUT_OF_RANGE, "out of range")                                                                          \
    X(IND_ERROR_OVERFLOW, "integer overflow")                                                                          \
    X(IND_ERROR_LIMIT, "limit exceeded")                                                                               \
    X(IND_ERROR_PARSE, "syntax error")                                                                                 \
    X(IND_ERROR_IO, "file error")                                                                                      \
    X(IND_ERROR_LIBRARY, "library not found")                                                                          \
    X(IND_ERROR_DEVICE, "device error")                                                                                \
    X(IND_ERROR_COMPILE, "kernel compiler error")                                                                      \
    X(IND_ERROR_INDEX_OUT_OF_RANGE, "index out of range")                                                              \
    X(IND_ERROR_VERIFY, "internal invariant broken")                                                                   \
    X(IND_ERROR_CANCELLED, "cancelled")

typedef enum ind_status {
#define X(status, text) status,
    IND_STATUSES(X)
#undef X
} ind_status;

/* The names of version 0.1, which 0.3 will not have. IND_NO_OLD_NAMES leaves them out. */
#ifndef IND_NO_OLD_NAMES
#define IND_INVALID_ARGUMENT   IND_ERROR_INVALID_ARGUMENT
#define IND_OUT_OF_MEMORY      IND_ERROR_OUT_OF_MEMORY
#define IND_NOT_SUPPORTED      IND_ERROR_NOT_SUPPORTED
#define IND_NOT_FOUND          IND_ERROR_NOT_FOUND
#define IND_SHAPE_MISMATCH     IND_ERROR_SHAPE_MISMATCH
#define IND_TYPE_MISMATCH      IND_ERROR_TYPE_MISMATCH
#define IND_OUT_OF_RANGE       IND_ERROR_OUT_OF_RANGE
#define IND_OVERFLOW           IND_ERROR_OVERFLOW
#define IND_LIMIT              IND_ERROR_LIMIT
#define IND_PARSE              IND_ERROR_PARSE
#define IND_IO                 IND_ERROR_IO
#define IND_LIBRARY            IND_ERROR_LIBRARY
#define IND_DEVICE             IND_ERROR_DEVICE
#define IND_COMPILE            IND_ERROR_COMPILE
#define IND_INDEX_OUT_OF_RANGE IND_ERROR_INDEX_OUT_OF_RANGE
#define IND_VERIFY             IND_ERROR_VERIFY
#endif

/* The text of a status code, never NULL. */
IND_API const char *ind_status_text(ind_status status);

/* ============================================================================================ src/ir/base/context.h */
/* ----------------------------------------------------------------------------------------------- >>context */

/* Host memory. Set both functions or neither. alloc returns 16-byte aligned memory or NULL. Every thread that calls the
   library calls them, several possibly at the same time. Default: calloc and free. */
typedef struct ind_allocator {
    void *(*alloc)(size_t bytes, void *user);
    void (*free)(void *memory, void *user);
    void *user;
} ind_allocator;

/* What a log line is about: enumerator, name. Each line begins with the name and a colon: "kernel: ind_k_softmax ...".
 */
#define IND_LOG_CATEGORIES(X)                                                                                          \
    X(ERROR, "error")     /* 3: the message of each failed call */                                                     \
    X(COMPILE, "compile") /* 2: each ind_compile: kernels, sources, milliseconds by stage */                           \
    X(KERNEL, "kernel")   /* 2: each source compiled by NVRTC: why, milliseconds. 1: spills. 3: registers, sources */  \
    X(VARIANT, "variant") /* 2: variants that cannot be used or built. 3: variants replaced by a fallback, or built */ \
    X(PACK, "pack")       /* 1: damaged or refused packs and entries. 2: packs that were read */                       \
    X(DEVICE, "device")   /* 2: why the host device is used. 1: unknown values of the environment */

typedef enum ind_log_category {
#define X(name, text) IND_LOG_##name,
    IND_LOG_CATEGORIES(X)
#undef X
} ind_log_category;

/* Receives log lines, without newline, in the thread that logs them. The library itself prints nothing. level: 1
   warning, 2 info, 3 debug. */
typedef struct ind_logger {
    void (*log)(int level, const char *text, void *user);
    void *user;
} ind_logger;

#define IND_DEVICES(X)                                                                                                 \
    X(AUTO, "auto") /* the GPU if there is one, else the host */                                                       \
    X(HOST, "host")                                                                                                    \
    X(CUDA, "cuda")

typedef enum ind_device {
#define X(name, text) IND_DEVICE_##name,
    IND_DEVICES(X)
#undef X
} ind_device;

/* The environment is read once, in ind_context_create. Each variable sets the field that it is listed at, if that field
   is zero. */
typedef struct ind_context_desc {
    ind_allocator allocator;
    ind_logger log;
    ind_device device; /* IND_DEVICE: host, cuda or auto */
    struct {
        void *context;             /* a CUcontext to use instead of the device's primary one; owned by the caller */
        int ordinal;               /* device number, 0-based; ignored if context is given */
        const char *library_path;  /* IND_CUDA_LIBRARY: the driver library */
        const char *nvrtc_path;    /* IND_NVRTC_LIBRARY: the NVRTC library */
        const char *cublaslt_path; /* IND_CUBLASLT_LIBRARY: cuBLASLt, for ind_compile_desc.cublaslt */
        /* IND_CUDA_SOURCES: a folder for the CUDA source of every kernel. Kernels are compiled with line information
           that names these files, so Nsight Compute and compute-sanitizer show the lines. pack.path is not read, and
           ind_pack_save is IND_ERROR_NOT_SUPPORTED. NULL: no files, and no line information. */
        const char *source_folder;
    } cuda;
    struct {
        const char
            *path; /* IND_PACK: file with compiled kernels, opened at the first compile, which reads those it needs */
        /* Called with the bytes of every pack before any of them is used, for example to check a signature. False: the
           pack is refused. It must not call functions with this context. NULL: only checksums are verified. */
        bool (*verify)(const char *path, const void *data, size_t bytes, void *user);
        void *user;
    } pack;
    /* Called by the thread that launches, before and after each kernel launch and extern call: nvtxRangePushA and
       nvtxRangePop, for example. `name` is that of the kernel. Called during a capture, but not during the replay of a
       CUDA graph. Set both functions or neither. */
    struct {
        void (*begin)(const char *name, void *user);
        void (*end)(void *user);
        void *user;
    } trace;
    int log_level;           /* IND_LOG: 0 nothing .. 3 debug */
    uint32_t log_categories; /* bits 1u << IND_LOG_KERNEL and so on: lines of other categories are not logged; 0: all */
    int verify;      /* IND_VERIFY: 1 runs the verifier after every stage; -1 never; 0 default (only in debug builds) */
    int num_threads; /* IND_THREADS: workers for compiling and for the host device; 0: one per core, at most 8 */
    /* Allows preprocessor directives, pragmas and assembly in functions declared in texts. Only for texts that are
       trusted like program code: an #include reads files of the machine that compiles. No environment variable. */
    bool trust_texts;
} ind_context_desc;

typedef struct ind_context ind_context;

/* Creates a context. desc may be NULL (all defaults). On success *context must be destroyed with ind_context_destroy.
   Errors: IND_ERROR_INVALID_ARGUMENT (context NULL, half an allocator or trace), IND_ERROR_OUT_OF_MEMORY. No device is
   touched yet. */
IND_API ind_status ind_context_create(const ind_context_desc *desc, ind_context **context);

/* Destroys the context and all objects made from it: graphs, modules, instances, expressions. NULL is allowed. */
IND_API void ind_context_destroy(ind_context *context);

/* The sentence that describes the calling thread's last failure in this context ("" if none), valid until the thread's
   next call that fails. A new thread may start with the last failure of a thread that has ended. */
IND_API const char *ind_error(const ind_context *context);
IND_API ind_status ind_error_status(const ind_context *context);

/* The desc with defaults filled in. */
IND_API const ind_context_desc *ind_context_query_desc(const ind_context *context);

/* ============================================================================================== src/ir/base/dtype.h */
/* ------------------------------------------------------------------------------------------------- >>dtype */

/* Element types: enumerator, text name, bytes, class (b bool, u unsigned, i signed, f float), type in emitted code.
   The order inside a class is the order of promotion. */
#define IND_DTYPES(X)                                                                                                  \
    X(BOOL, "bool", 1, 'b', "unsigned char")                                                                           \
    X(U8, "u8", 1, 'u', "unsigned char")                                                                               \
    X(I8, "i8", 1, 'i', "signed char")                                                                                 \
    X(I16, "i16", 2, 'i', "short")                                                                                     \
    X(I32, "i32", 4, 'i', "int")                                                                                       \
    X(I64, "i64", 8, 'i', "long long")                                                                                 \
    X(F16, "f16", 2, 'f', "unsigned short")                                                                            \
    X(BF16, "bf16", 2, 'f', "unsigned short")                                                                          \
    X(F32, "f32", 4, 'f', "float")                                                                                     \
    X(F64, "f64", 8, 'f', "double")                                                                                    \
    X(F8E4M3FN, "f8e4m3fn", 1, 'f', "unsigned char") /* at most 448, no infinity; storage and casts only */            \
    X(F8E5M2, "f8e5m2", 1, 'f', "unsigned char") /* storage and casts only; has infinity (Micikevicius et al. 2022) */

typedef enum ind_dtype {
    IND_DTYPE_NONE, /* zero in a desc: the type of the input */
#define X(name, text, bytes, cls, ctype) IND_##name,
    IND_DTYPES(X)
#undef X
        IND_NUM_DTYPES
} ind_dtype;

IND_API const char *ind_dtype_name(ind_dtype dtype);
IND_API int ind_dtype_bytes(ind_dtype dtype);
IND_API bool ind_dtype_is_float(ind_dtype dtype);
IND_API bool ind_dtype_is_integer(ind_dtype dtype); /* u8 to i64; bool is neither */
/* The type in which values of this storage type are computed: f32 for f16, bf16 and the 8-bit floats, else the type
   itself. */
IND_API ind_dtype ind_dtype_compute(ind_dtype dtype);
/* PyTorch's promotion of two tensor types (torch.promote_types); NONE for an 8-bit float and another type. */
IND_API ind_dtype ind_dtype_promote(ind_dtype a, ind_dtype b);
/* The type with this text name; IND_DTYPE_NONE if there is none, or name is NULL. */
IND_API ind_dtype ind_dtype_parse(const char *name, size_t length);

/* =============================================================================================== src/ir/expr/expr.h */
/* -------------------------------------------------------------------------------------------------- >>expr */

/* An integer expression: immutable and interned, so equal expressions of one context have equal ids. id 0 is "invalid":
   every function here accepts it and returns it, and the context has the reason. So one check at the end of a long
   computation is enough. A module has its own context, created by ind_compile. An operation on its expressions and the
   user's gives a result in the user's context. Any thread may read existing expressions at any time; only one thread at
   a time may create new ones. `//` and `%` are Python's: they round down for every sign.
   Errors of every constructor: IND_ERROR_OVERFLOW (an integer in it exceeds 64 bits), IND_ERROR_LIMIT (nested more than
   160 levels deep, more than 65,536 terms, a product of more than 60 factors), IND_ERROR_OUT_OF_MEMORY,
   IND_ERROR_INVALID_ARGUMENT (operands of unrelated contexts). */
typedef struct ind_expr {
    ind_context *context;
    uint32_t id;
} ind_expr;

/* Node kinds: enumerator, text, arity (0 leaf, -1 any number). CeilDiv(a, b) is built as -((-a) // b), and
   ModularIndexing(x, d, m) as (x // d) % m. Canonical form:
   Add holds no Add; at most one integer, first; every other argument is a distinct term c * m.
   Mul holds no Mul and no Add unless expanding it would exceed a limit; at most one integer, first, never 0 or 1. */
#define IND_EXPRS(X)                                                                                                   \
    X(NONE, "none", 0)                                                                                                 \
    X(INT, "int", 0)                                                                                                   \
    X(SYM, "sym", 0)                                                                                                   \
    X(ADD, "+", -1)                                                                                                    \
    X(MUL, "*", -1)                                                                                                    \
    X(FLOORDIV, "//", 2)                                                                                               \
    X(MOD, "%", 2)                                                                                                     \
    X(MIN, "Min", -1)                                                                                                  \
    X(MAX, "Max", -1)                                                                                                  \
    X(EQ, "==", 2)                                                                                                     \
    X(NE, "!=", 2)                                                                                                     \
    X(LT, "<", 2)                                                                                                      \
    X(LE, "<=", 2)                                                                                                     \
    X(AND, "and", -1)                                                                                                  \
    X(OR, "or", -1)                                                                                                    \
    X(NOT, "not", 1)                                                                                                   \
    X(WHERE, "Where", 3)

typedef enum ind_expr_kind {
#define X(name, text, arity) IND_EXPR_##name,
    IND_EXPRS(X)
#undef X
} ind_expr_kind;

#define IND_SYMBOL_KINDS(X)                                                                                            \
    X(SIZE, "size")         /* declared: range, multiple-of, hint */                                                   \
    X(UNBACKED, "unbacked") /* known only at run time, from data */                                                    \
    X(INDEX, "index")       /* loop index in [0, extent) */                                                            \
    X(INDIRECT, "indirect") /* loop index read from memory, in [0, extent) after its check */

typedef enum ind_symbol_kind {
#define X(name, text) IND_SYMBOL_##name,
    IND_SYMBOL_KINDS(X)
#undef X
} ind_symbol_kind;

/* All fields together identify a symbol: the same name with another range is another symbol. */
typedef struct ind_symbol {
    ind_symbol_kind kind;
    int slot;            /* INDEX: which loop; INDIRECT: which value of the body; SIZE: position in its graph */
    const char *name;    /* as printed; interned copy */
    int64_t lo, hi;      /* inclusive range; derived from the extent for loop indices */
    int64_t multiple_of; /* >= 1 */
    int64_t hint;        /* a likely value, for heuristics only */
    ind_expr extent;     /* loop indices: one past the largest value; else invalid */
} ind_symbol;

IND_API ind_expr ind_int(ind_context *context, int64_t value);
/* Interns a symbol; the name is copied. Errors (invalid expr): empty range, multiple_of < 0, hint outside the range. */
IND_API ind_expr ind_symbol_expr(ind_context *context, const ind_symbol *symbol);

IND_API ind_expr ind_expr_add(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_sub(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_mul(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_neg(ind_expr a);
/* Division by a value that may be zero is IND_ERROR_INVALID_ARGUMENT: b must be proven nonzero by its bounds, its form
   (a product of nonzero factors) or the facts in force. */
IND_API ind_expr ind_expr_floordiv(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_mod(ind_expr a, ind_expr b); /* as floordiv; the result has b's sign */
IND_API ind_expr ind_expr_ceildiv(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_modular(ind_expr x, ind_expr d, ind_expr m); /* (x // d) % m */
IND_API ind_expr ind_expr_min(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_max(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_eq(ind_expr a, ind_expr b); /* conditions are expressions with the value 0 or 1 */
IND_API ind_expr ind_expr_ne(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_lt(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_le(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_and(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_or(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_not(ind_expr a);
IND_API ind_expr ind_expr_where(ind_expr condition, ind_expr a, ind_expr b);

/* Operations on n operands in linear time; n calls of the functions above would copy n times. n == 0 gives 0 for the
   sum, 1 for the product; Min and Max need n >= 1. */
IND_API ind_expr ind_expr_sum(ind_context *context, const ind_expr *v, int n);
IND_API ind_expr ind_expr_product(ind_context *context, const ind_expr *v, int n);
IND_API ind_expr ind_expr_min_of(ind_context *context, const ind_expr *v, int n);
IND_API ind_expr ind_expr_max_of(ind_context *context, const ind_expr *v, int n);

/* Structure. An argument number must be below the count. */
IND_API ind_expr_kind ind_expr_query_kind(ind_expr e);
IND_API int ind_expr_num_args(ind_expr e);
IND_API ind_expr ind_expr_arg(ind_expr e, int i);
IND_API const ind_symbol *ind_expr_symbol(ind_expr e);    /* NULL unless e is a symbol */
IND_API bool ind_expr_is_int(ind_expr e, int64_t *value); /* value may be NULL */
IND_API bool ind_expr_same(ind_expr a, ind_expr b);       /* valid and equal, also across module contexts */

/* Evaluates e. `value(symbol, user, &out)` gives the value of each symbol and returns false if it has none. Errors:
   IND_ERROR_NOT_FOUND (names the symbol), IND_ERROR_OVERFLOW, IND_ERROR_INVALID_ARGUMENT (division by zero). */
typedef bool (*ind_symbol_value_fn)(const ind_symbol *symbol, void *user, int64_t *out);
IND_API ind_status ind_expr_eval(ind_expr e, ind_symbol_value_fn value, void *user, int64_t *out);

/* Three families of queries. *known* returns proven facts and changes nothing. *guard* decides a condition and, if it
   is not proven, records that it was needed. *hint* is a likely value, for heuristics only.

   Known: proven from the symbols' own ranges and the fact set in force. false means "not proven". ind_expr_bounds uses
   the symbols' own ranges alone and only reads; ind_bounds also uses facts. INT64_MIN and INT64_MAX: unbounded. */
IND_API void ind_expr_bounds(ind_expr e, int64_t *lo, int64_t *hi);
IND_API bool ind_known_true(ind_expr condition);
IND_API bool ind_known_eq(ind_expr a, ind_expr b);
IND_API bool ind_known_le(ind_expr a, ind_expr b);
IND_API bool ind_known_lt(ind_expr a, ind_expr b);
IND_API bool ind_known_multiple(ind_expr e, int64_t of);
IND_API int64_t ind_known_divisor(ind_expr e); /* the largest integer proven to divide e; 0 for the constant 0 */

/* Hint: a likely value; loop indices count as 0. An unbacked symbol without a hint counts as its lower bound. */
IND_API int64_t ind_hint(ind_expr e);

/* A fact set: facts on symbols beyond their own ranges. Declared facts are promises of the caller. Guards are
   conditions that hold for the hints and that later decisions depend on. Both simplify expressions built under the set.
   It belongs to the context and may be destroyed before it. Not for two threads at once. */
typedef struct ind_facts ind_facts;
IND_API ind_status ind_facts_create(ind_context *context, ind_facts **facts);
IND_API void ind_facts_destroy(ind_facts *facts); /* NULL allowed */

/* Declares that a condition holds: s0 == 4*s1, s0 <= s1, s0 % 8 == 0, s0 != 0, i0 < s0, or an `and` of these; any other
   condition is stored as it is. An equality that can be solved for a symbol replaces the symbol; a bound of one symbol
   narrows its range. Errors: IND_ERROR_INVALID_ARGUMENT if it contradicts known facts (nothing is added),
   IND_ERROR_OUT_OF_MEMORY. */
IND_API ind_status ind_facts_assume(ind_facts *facts, ind_expr condition);

/* Puts a fact set in force. Until the next call it applies to everything built in the context: the known queries, the
   divisors (x // n needs n != 0) and the rules that need a proof. Symbols are not replaced; ind_simplify also replaces
   them. facts may be NULL: none. Returns the set that was in force, which the caller restores. An expression built
   under a set is valid only if its facts hold. NULL context: does nothing, returns NULL. A set of another context is
   IND_ERROR_INVALID_ARGUMENT (ind_error_status) and is not put in force. */
IND_API ind_facts *ind_facts_enter(ind_context *context, ind_facts *facts);

/* Known under a fact set (NULL: none). simplify rebuilds e under the facts until nothing changes. The result has the
   same value wherever the facts hold, and simplifying it again gives the same id. If an intermediate form has an
   integer beyond 64 bits, simplification stops there; then equal values may have different ids. */
IND_API ind_expr ind_simplify(ind_facts *facts, ind_expr e);
IND_API bool ind_known(ind_facts *facts, ind_expr condition);
IND_API void ind_bounds(ind_facts *facts, ind_expr e, int64_t *lo, int64_t *hi);

/* Guard: sets *holds to the truth of a condition. Proven true or false: nothing is recorded. Otherwise the hints
   decide, and the condition (or its negation) becomes a guard: true from here on, checked by ind_facts_check. If the
   hints contradict known facts, the facts decide. Errors, with nothing recorded: IND_ERROR_NOT_SUPPORTED if it depends
   on an unbacked symbol or a loop index, as no hint may stand for data; IND_ERROR_INVALID_ARGUMENT (a condition of
   another context, holds NULL, a division by zero at the hints), IND_ERROR_OVERFLOW (its value at the hints),
   IND_ERROR_LIMIT (too many consequences), IND_ERROR_OUT_OF_MEMORY. */
IND_API ind_status ind_guard(ind_facts *facts, ind_expr condition, bool *holds);
IND_API int ind_facts_num_guards(const ind_facts *facts);
IND_API ind_expr ind_facts_query_guard(const ind_facts *facts, int i); /* as given; invalid past the end */
IND_API int ind_facts_num_declared(const ind_facts *facts);
IND_API ind_expr ind_facts_query_declared(const ind_facts *facts, int i);
/* Checks that all declared facts and guards hold for these values. IND_OK if so. IND_ERROR_OUT_OF_RANGE names the first
   that does not and returns it in *failed (may be NULL). IND_ERROR_NOT_FOUND, IND_ERROR_OVERFLOW as ind_expr_eval. */
IND_API ind_status ind_facts_check(const ind_facts *facts, ind_symbol_value_fn value, void *user, ind_expr *failed);

/* Printing. IND_PRINT_TEXT reads back to the same id (ind_expr_parse). It is the smallest form found, counted in
   operations, then in characters: common factors are taken out, ceilings are CeilDiv. LATEX prints the same form. C and
   CUDA round down for every sign. If no plain operator does, they call ind_floordiv, ind_floormod, ind_min and ind_max
   (int or long long), which the including code defines. They use / and % only if both operands are proven nonnegative,
   and a rewritten form only if no intermediate result can leave the type. Literals of C and CUDA64 end in ll. */
#define IND_PRINTS(X)                                                                                                  \
    X(TEXT, "text")     /* // % CeilDiv(a, b) Min(..) Max(..) Where(c, a, b) and or not */                             \
    X(C, "c")           /* int64_t */                                                                                  \
    X(CUDA32, "cuda32") /* int */                                                                                      \
    X(CUDA64, "cuda")   /* long long */                                                                                \
    X(LATEX, "latex")   /* for documents */

typedef enum ind_print {
#define X(name, text) IND_PRINT_##name,
    IND_PRINTS(X)
#undef X
} ind_print;

/* Prints into buffer (size bytes, always terminated if size > 0; NULL allowed). Returns the length of the whole text
   without the terminator, as snprintf. Special texts: "<invalid>" for the invalid expression, "<too long>" for more
   than 1 MiB, "<no memory>". Any thread may print expressions that a module returned; printing others creates
   expressions, as the constructors do. */
IND_API size_t ind_expr_print(ind_expr e, char *buffer, size_t size);
IND_API size_t ind_expr_print_as(ind_expr e, ind_print form, char *buffer, size_t size);

/* Parses the whole text. Names are [A-Za-z_][A-Za-z0-9_]*, looked up by find (invalid expr: unknown). Operators bind as
   in Python; a chain of comparisons is refused. Also read: + before a value, x ** n (n from 0 to 64), True, False,
   FloorDiv, CleanDiv, Mod, PythonMod, Abs, Identity, Eq, Ne, Lt, Le, Gt, Ge, And, Or, Not. On failure returns the
   invalid expression, with the reason in ind_error and the 1-based column of the error in *column (may be NULL; 0 if
   the text is not at fault). Errors: IND_ERROR_PARSE, IND_ERROR_LIMIT (more than 1 MiB, nested more than 1000 levels
   deep, the result exceeds a limit), IND_ERROR_OVERFLOW, IND_ERROR_INVALID_ARGUMENT (a divisor that may be 0). */
typedef ind_expr (*ind_find_symbol_fn)(const char *name, size_t length, void *user);
IND_API ind_expr ind_expr_parse(ind_context *context, const char *text, ind_find_symbol_fn find, void *user,
                                int *column);

/* Equations, substitution, and properties of an index in a loop. */
/* The value of `symbol` that makes a == b, if there is exactly one integer expression for it that is proven exact:
   affine in the symbol, with a coefficient that divides the rest. Else invalid, without an error. */
IND_API ind_expr ind_expr_solve(ind_expr a, ind_expr b, ind_expr symbol);
IND_API ind_expr ind_expr_substitute(ind_expr e, const ind_expr *symbols, const ind_expr *values, int n); /* at once */
/* The change of e when the loop index grows by one, if it is the same at every index; else invalid, without an
   error. */
IND_API ind_expr ind_expr_stride(ind_expr e, ind_expr index);
/* For vector access: the largest power of two n up to `most` such that n consecutive values of `index`, from any
   multiple of n on, give n consecutive values of e (1: none). *alignment: proven alignment, in elements, of the first
   of each group. */
IND_API int ind_expr_contiguity(ind_expr e, ind_expr index, int most, int *alignment);
/* True if [a, a + a_size) and [b, b + b_size) are proven disjoint for all values of the symbols. */
IND_API bool ind_known_disjoint(ind_expr a, ind_expr a_size, ind_expr b, ind_expr b_size);

/* =============================================================================================== src/ir/loops/ops.h */
/* ---------------------------------------------------------------------------------------------------- >>ops */

/* Ops on values inside a loop. Scalar, no promotion: both operands have one compute type (f32, f64, integers or bool).
   f16, bf16 and 8-bit floats exist only in memory: loads widen, stores round. Enumerator, name, arity, class: a
   arithmetic on numbers, f floats only, i integers only, c comparison (bool result), l logic on bools, w select, r
   random bits, u user function, s structure.
   Maximum and minimum return NaN if either operand is NaN (torch.maximum). Integers wrap around.
   DIV on integers truncates toward zero; x / 0 is 0 on integers. RSQRT is 1/sqrt. POW is C's pow; on integers by
   squaring, 0 for negative exponents except for bases 1 and -1. ROUND_* round an f32 to the type and back. FMOD is C's
   fmod and, on integers, %: the sign of the dividend, which is also the result if the divisor is 0. RINT rounds half to
   even. Shifts by a negative number or by at least the width give 0, SHIFT_RIGHT of a negative number -1. GCD is the
   greatest common divisor, >= 0 except 2^(width - 1), which wraps around; GCD(0, 0) is 0. ERFINV is the inverse of erf.
   I0E and I1E are the modified Bessel functions of the first kind times exp(-|x|), J and Y the plain ones. ZETA(x, a)
   is Hurwitz'. IGAMMA(a, x) and IGAMMAC are the regularised incomplete gamma functions. All other names are those of
   libm and mean the same. */
#define IND_LOOP_OPS(X)                                                                                                \
    X(NONE, none, 0, 's')                                                                                              \
    X(CONSTANT, constant, 0, 's') /* imm: i for integers and bool, f for floats */                                     \
    X(INDEX, index, 0, 's')       /* value of an index expression */                                                   \
    X(LOAD, load, 1, 's')         /* arg 0: mask or 0; the value is 0 if the mask is false */                          \
    X(STORE, store, 2, 's')       /* arg 0: value; arg 1: mask or 0; stores nothing if the mask is false */            \
    X(INDIRECT, indirect, 1, 's') /* arg 0: integer value that becomes an index symbol; checked against an extent */   \
    X(REDUCE, reduce, 2, 's')     /* over the reduction ranges; arg 1: second operand of DOT, else 0 */                \
    X(PART, part, 1, 's')         /* arg 0: a REDUCE or SCAN; imm.i: number of its result */                           \
    X(SCAN, scan, 1, 's')         /* over the one reduction range; has a value at each point of it */                  \
    X(STATE, state, 0, 's')       /* operand of a combine function; imm.i: its number, left ones first */              \
    X(PAIR, pair, 3, 's')         /* arg 0: element of a scan; arg 1: the combined value; arg 2: the next PAIR or 0 */ \
    X(PACKED, packed, 4, 's')     /* arg 0, an element of a packed tensor (ind__op_packed) */                          \
    X(CAST, cast, 1, 's')         /* C conversion; float to bool is x != 0 */                                          \
    X(ROUND_F16, round_f16, 1, 'f')                                                                                    \
    X(ROUND_F8E4M3FN, round_f8e4m3fn, 1, 'f')                                                                          \
    X(ROUND_F8E5M2, round_f8e5m2, 1, 'f')                                                                              \
    X(ROUND_BF16, round_bf16, 1, 'f')                                                                                  \
    X(NEG, neg, 1, 'a')                                                                                                \
    X(ABS, abs, 1, 'a')                                                                                                \
    X(EXP, exp, 1, 'f')                                                                                                \
    X(LOG, log, 1, 'f')                                                                                                \
    X(SQRT, sqrt, 1, 'f')                                                                                              \
    X(RSQRT, rsqrt, 1, 'f')                                                                                            \
    X(RECIPROCAL, reciprocal, 1, 'f')                                                                                  \
    X(TANH, tanh, 1, 'f')                                                                                              \
    X(ERF, erf, 1, 'f')                                                                                                \
    X(SIGMOID, sigmoid, 1, 'f')                                                                                        \
    X(SIN, sin, 1, 'f')                                                                                                \
    X(COS, cos, 1, 'f')                                                                                                \
    X(TAN, tan, 1, 'f')                                                                                                \
    X(ASIN, asin, 1, 'f')                                                                                              \
    X(ACOS, acos, 1, 'f')                                                                                              \
    X(ATAN, atan, 1, 'f')                                                                                              \
    X(SINH, sinh, 1, 'f')                                                                                              \
    X(COSH, cosh, 1, 'f')                                                                                              \
    X(ASINH, asinh, 1, 'f')                                                                                            \
    X(ACOSH, acosh, 1, 'f')                                                                                            \
    X(ATANH, atanh, 1, 'f')                                                                                            \
    X(EXP2, exp2, 1, 'f')                                                                                              \
    X(EXPM1, expm1, 1, 'f')                                                                                            \
    X(LOG2, log2, 1, 'f')                                                                                              \
    X(LOG10, log10, 1, 'f')                                                                                            \
    X(LOG1P, log1p, 1, 'f')                                                                                            \
    X(FLOOR, floor, 1, 'f')                                                                                            \
    X(CEIL, ceil, 1, 'f')                                                                                              \
    X(TRUNC, trunc, 1, 'f')                                                                                            \
    X(RINT, rint, 1, 'f')                                                                                              \
    X(ERFC, erfc, 1, 'f')                                                                                              \
    X(LGAMMA, lgamma, 1, 'f')                                                                                          \
    X(ERFINV, erfinv, 1, 'f')                                                                                          \
    X(DIGAMMA, digamma, 1, 'f')                                                                                        \
    X(I0E, i0e, 1, 'f')                                                                                                \
    X(I1E, i1e, 1, 'f')                                                                                                \
    X(J0, j0, 1, 'f')                                                                                                  \
    X(J1, j1, 1, 'f')                                                                                                  \
    X(Y0, y0, 1, 'f')                                                                                                  \
    X(Y1, y1, 1, 'f')                                                                                                  \
    X(NOT, not, 1, 'l')                                                                                                \
    X(ADD, add, 2, 'a')                                                                                                \
    X(SUB, sub, 2, 'a')                                                                                                \
    X(MUL, mul, 2, 'a')                                                                                                \
    X(DIV, div, 2, 'a')                                                                                                \
    X(POW, pow, 2, 'a')                                                                                                \
    X(MAXIMUM, maximum, 2, 'a')                                                                                        \
    X(MINIMUM, minimum, 2, 'a')                                                                                        \
    X(FMOD, fmod, 2, 'a')                                                                                              \
    X(ATAN2, atan2, 2, 'f')                                                                                            \
    X(HYPOT, hypot, 2, 'f')                                                                                            \
    X(COPYSIGN, copysign, 2, 'f')                                                                                      \
    X(NEXTAFTER, nextafter, 2, 'f')                                                                                    \
    X(ZETA, zeta, 2, 'f')                                                                                              \
    X(IGAMMA, igamma, 2, 'f')                                                                                          \
    X(IGAMMAC, igammac, 2, 'f')                                                                                        \
    X(BIT_AND, bit_and, 2, 'i')                                                                                        \
    X(BIT_OR, bit_or, 2, 'i')                                                                                          \
    X(BIT_XOR, bit_xor, 2, 'i')                                                                                        \
    X(SHIFT_LEFT, shift_left, 2, 'i')                                                                                  \
    X(SHIFT_RIGHT, shift_right, 2, 'i')                                                                                \
    X(GCD, gcd, 2, 'i')                                                                                                \
    X(EQ, eq, 2, 'c')                                                                                                  \
    X(NE, ne, 2, 'c')                                                                                                  \
    X(LT, lt, 2, 'c')                                                                                                  \
    X(LE, le, 2, 'c')                                                                                                  \
    X(GT, gt, 2, 'c')                                                                                                  \
    X(GE, ge, 2, 'c')                                                                                                  \
    X(AND, and, 2, 'l')                                                                                                \
    X(OR, or, 2, 'l')                                                                                                  \
    X(WHERE, where, 3, 'w')   /* bool, then the two values */                                                          \
    X(PHILOX, philox, 3, 'r') /* i64: key, stream, position; imm.i: range of the 128 random bits (ind_op_philox) */    \
    X(CALL, call, 5, 'u')     /* imm.function, with as many arguments as it declares */

typedef enum ind_loop_op {
#define X(name, text, arity, cls) IND_LOOP_##name,
    IND_LOOP_OPS(X)
#undef X
        IND_NUM_LOOP_OPS
} ind_loop_op;

/* Reductions: enumerator, name, number of results. MAX and MIN propagate NaN. ARGMAX returns the i64 position in the
   reduction ranges (row-major) of the first largest value; NaN counts as largest. WELFORD: mean and sum of squared
   deviations (Welford 1962, merged as in Chan et al. 1979). ONLINE_SOFTMAX: maximum m and sum of exp(x - m) in one pass
   (Milakov and Gimelshein 2018). DOT: sum of the products of two operands; the matrix product. */
#define IND_REDUCTIONS(X)                                                                                              \
    X(NONE, "none", 0)                                                                                                 \
    X(SUM, "sum", 1)                                                                                                   \
    X(PROD, "prod", 1)                                                                                                 \
    X(MAX, "max", 1)                                                                                                   \
    X(MIN, "min", 1)                                                                                                   \
    X(ANY, "any", 1)                                                                                                   \
    X(ARGMAX, "argmax", 1)                                                                                             \
    X(WELFORD, "welford", 2)                                                                                           \
    X(ONLINE_SOFTMAX, "online_softmax", 2)                                                                             \
    X(DOT, "dot", 1)

typedef enum ind_reduction {
#define X(name, text, results) IND_REDUCE_##name,
    IND_REDUCTIONS(X)
#undef X
        IND_NUM_REDUCTIONS
} ind_reduction;

/* Scans: enumerator, name, number of results, whether it sorts. The result at a point combines all points up to it
   (inclusive), from first to last. MAX and MIN: value and i64 position; NaN propagates, and of equal values the later
   one counts (torch.cummax). LOGADDEXP: log of the sum of exponentials. ASCENDING, DESCENDING: the element of this rank
   and its i64 position in the row, stable; NaN is larger than every number. COMBINE: as many results as there are
   PAIRs, combined by the values that the PAIRs compute from STATEs. */
#define IND_SCANS(X)                                                                                                   \
    X(SUM, "sum", 1, false)                                                                                            \
    X(PROD, "prod", 1, false)                                                                                          \
    X(MAX, "max", 2, false)                                                                                            \
    X(MIN, "min", 2, false)                                                                                            \
    X(LOGADDEXP, "logaddexp", 1, false)                                                                                \
    X(ASCENDING, "ascending", 2, true)                                                                                 \
    X(DESCENDING, "descending", 2, true)                                                                               \
    X(COMBINE, "combine", 0, false)

typedef enum ind_scan {
#define X(name, text, results, sorts) IND_SCAN_##name,
    IND_SCANS(X)
#undef X
        IND_NUM_SCANS
} ind_scan;

/* ============================================================================================== src/ir/loops/body.h */
/* ------------------------------------------------------------------------------------------------- >>body */

struct ind_graph;

/* A tensor of a graph (see inductor.h). id 0: none, or a failed op; every op accepts it and records no new error. */
typedef struct ind_tensor {
    struct ind_graph *graph;
    uint32_t id;
} ind_tensor;

/* The handler under which a loop function runs, and a value in it (id 0: invalid; the handler has the reason). */
typedef struct ind_ops ind_ops;
typedef struct ind_value {
    uint32_t id;
} ind_value;

/* The computation of one element. index has one expression per dimension. The function is called once, immediately,
   to record the body; it must be pure. */
typedef ind_value (*ind_loop_fn)(ind_ops *o, const ind_expr *index, int rank, void *user);

IND_API ind_value ind_op_constant(ind_ops *o, double value, ind_dtype dtype);
IND_API ind_value ind_op_constant_int(ind_ops *o, int64_t value, ind_dtype dtype);
IND_API ind_value ind_op_index(ind_ops *o, ind_expr e, ind_dtype dtype);
/* Loads an element of a tensor of the graph under construction; the result has the compute type of its dtype. */
IND_API ind_value ind_op_load(ind_ops *o, ind_tensor x, const ind_expr *index, int rank);
IND_API ind_value ind_op_cast(ind_ops *o, ind_value x, ind_dtype dtype); /* to f16 or bf16: rounds, stays f32 */
/* Converts an integer value to an index in [0, size). It is checked at run time unless its range proves it. A violation
   is reported as IND_ERROR_INDEX_OUT_OF_RANGE and reads element 0. wrap: negative values count from the end. */
IND_API ind_expr ind_op_indirect(ind_ops *o, ind_value x, ind_expr size, bool wrap);
/* Returns fn's value if mask is true, else `other`; fn's loads do not access memory if mask is false. */
IND_API ind_value ind_op_masked(ind_ops *o, ind_value mask, ind_loop_fn fn, const ind_expr *index, int rank, void *user,
                                double other);
IND_API ind_dtype ind_op_dtype(ind_ops *o, ind_value x);
IND_API ind_context *ind_op_context(ind_ops *o);

/* One function per row of IND_LOOP_OPS: ind_op_neg(o, x), ind_op_add(o, a, b), ind_op_where(o, c, a, b) ... */
#define IND__DECLARE_UNARY(text)  IND_API ind_value ind_op_##text(ind_ops *o, ind_value a);
#define IND__DECLARE_BINARY(text) IND_API ind_value ind_op_##text(ind_ops *o, ind_value a, ind_value b);
/* clang-format off */
#define IND__UNARY_OPS(X)                                                                                              \
    X(neg) X(abs) X(exp) X(log) X(sqrt) X(rsqrt) X(reciprocal) X(tanh) X(erf) X(sigmoid) X(sin) X(cos) X(tan)          \
    X(asin) X(acos) X(atan) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh) X(exp2) X(expm1) X(log2) X(log10) X(log1p)      \
    X(floor) X(ceil) X(trunc) X(rint) X(erfc) X(lgamma) X(erfinv) X(digamma) X(i0e) X(i1e) X(j0) X(j1) X(y0) X(y1)     \
    X(not)
#define IND__BINARY_OPS(X)                                                                                             \
    X(add) X(sub) X(mul) X(div) X(pow) X(maximum) X(minimum) X(fmod) X(atan2) X(hypot) X(copysign) X(nextafter)        \
    X(zeta) X(igamma) X(igammac) X(bit_and) X(bit_or) X(bit_xor) X(shift_left) X(shift_right) X(gcd)                   \
    X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(and) X(or)
/* clang-format on */
IND__UNARY_OPS(IND__DECLARE_UNARY)
IND__BINARY_OPS(IND__DECLARE_BINARY)
IND_API ind_value ind_op_where(ind_ops *o, ind_value condition, ind_value a, ind_value b);
/* Bits [first, first + width) of Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3") as
   a number >= 0. key, stream and position are i64; the counter's low half is the position, its high half the stream.
   The bits depend on these arguments only and are equal on all devices. width is in [1, 63], within one half:
   first / 64 == (first + width - 1) / 64; first + width <= 128. */
IND_API ind_value ind_op_philox(ind_ops *o, ind_value key, ind_value stream, ind_value position, int first, int width);

/* A user function of one element in CUDA C, with a host twin in C for the host device. It fuses like every other op:
   ind_call makes an op of it, ind_op_call uses it inside a loop function. Arguments and result have declared types.
   f16, bf16 and the 8-bit floats are passed as float, and the result is rounded when it is stored. Other types are
   passed as the CUDA type of their name (i64: long long, u8: unsigned char, bool: bool ..). It must be pure. */
#define IND_MAX_FUNCTION_ARGS 5

typedef union ind_element {
    float f;   /* f32, f16, bf16, 8-bit floats */
    double d;  /* f64 */
    int64_t i; /* integers and bool */
} ind_element;

/* The host twin: computes the result for one element; called from several threads at once. */
typedef ind_element (*ind_function_fn)(const ind_element *x, void *user);

typedef struct ind_function_desc {
    const char *signature; /* "swish(x: f32, beta: f32) -> f32"; names are letters, digits and _ */
    const char *cuda;      /* an expression in the arguments, or, if it contains a ;, the body of a function */
    ind_function_fn host;  /* NULL: none, and the host device returns IND_ERROR_NOT_SUPPORTED */
    void *user;
} ind_function_desc;

/* Registers a function in a context under its name; strings are copied. A text that declares it (>>text in inductor.h)
   finds its host twin by name; if this is the only use, cuda may be NULL. Registering the same again is allowed.
   Errors: IND_ERROR_INVALID_ARGUMENT (NULL; another function has the name), IND_ERROR_PARSE (the signature),
   IND_ERROR_LIMIT. */
IND_API ind_status ind_function_register(ind_context *context, const ind_function_desc *desc);

/* An extern call: an op that runs a function of the caller, for example a kernel of another library. It is a separate
   step of the schedule. The function gets contiguous operands and memory for its results. On CUDA it enqueues its work
   on the given stream, which may be under graph capture, and must not synchronise. On the host it does the work itself.
   All memory that `call` points to is valid until it returns. If the size of dimension 0 comes from data, size[0] is
   its upper bound, and `count` points to the size in device memory. The size is valid after the work enqueued before.
   Elements after it are undefined, and may be written. */
typedef struct ind_extern_tensor {
    void *data; /* may be NULL if there are no elements */
    ind_dtype dtype;
    int rank;
    const int64_t *size, *stride; /* rank entries each; strides in elements, row-major unless `strided` */
    const int64_t *count;         /* the size of dimension 0 if it comes from data; else NULL */
} ind_extern_tensor;

#define IND_EXTERN_MESSAGE 256

typedef struct ind_extern_call {
    const char *name;
    ind_device device; /* IND_DEVICE_HOST or IND_DEVICE_CUDA */
    void *stream;      /* CUstream; its context is current during the call; NULL on the host */
    const ind_extern_tensor *input;
    int num_inputs;
    const ind_extern_tensor *output; /* the results, then the overwritten inputs */
    int num_outputs;
    void *workspace; /* aligned to 256 bytes; undefined contents; NULL if none was requested */
    int64_t workspace_bytes;
    char *message; /* room for IND_EXTERN_MESSAGE bytes, "" at first: why the call fails, which the error repeats */
    const ind_symbol *size; /* the module's declared sizes, and their values in this run */
    const int64_t *size_value;
    int num_sizes;
    void *user; /* of the registration */
} ind_extern_call;

/* A status other than IND_OK is returned by ind_run with the op's name, and no later step runs. Modules that run in
   several threads call it in several threads. */
typedef ind_status (*ind_extern_fn)(const ind_extern_call *call);

typedef struct ind_extern_type {
    ind_dtype dtype;
    int rank;
    ind_expr size[IND_MAX_RANK];
} ind_extern_type;

/* Sets the types of the results (at most IND_MAX_EXTERN_RESULTS) and the bytes of workspace (0 on entry) for operands
   of these types. It must depend on nothing else. A failure is reported by its status. */
#define IND_MAX_EXTERN_RESULTS 8
typedef ind_status (*ind_extern_shape_fn)(ind_context *context, const ind_extern_type *input, int num_inputs,
                                          ind_extern_type *result, int *num_results, ind_expr *workspace, void *user);

typedef struct ind_extern_desc {
    const char *name;          /* letters, digits, _ and . */
    ind_extern_fn host, cuda;  /* a missing one makes ind_compile for that device IND_ERROR_NOT_SUPPORTED */
    ind_extern_shape_fn shape; /* NULL: each call declares the types of its results */
    void *user;
    /* Operands of two or more dimensions may be views, such as transposed matrices or parts of longer rows. One of the
       last two dimensions has stride 1, the other at least its size, the dimensions before them any stride from 0 on.
       Other views are copied to contiguous memory, as all views are without this flag. */
    bool strided;
} ind_extern_desc;

/* Registers an extern call in a context under its name. Registering the same again is allowed. Errors:
   IND_ERROR_INVALID_ARGUMENT (NULL, no name; another one has the name), IND_ERROR_OUT_OF_MEMORY. */
IND_API ind_status ind_extern_register(ind_context *context, const ind_extern_desc *desc);

/* Returns the value of a user function inside a loop; arguments are cast to the declared types. Errors, as a failed op:
   no such function, wrong number of arguments, a type that does not promote to the declared one. */
IND_API ind_value ind_op_call(ind_ops *o, const char *function, const ind_value *args, int num_args);

/* ============================================================================================ src/ir/loops/layout.h */
/* ------------------------------------------------------------------------------------------------ >>layout */

/* Position of a buffer's elements in memory: element (i0, i1, ..) is at offset + sum of i * stride, in elements. */
typedef struct ind_layout {
    int rank;
    ind_expr size[IND_MAX_RANK];
    ind_expr stride[IND_MAX_RANK]; /* valid once fixed */
    ind_expr offset;
    uint8_t order[IND_MAX_RANK]; /* dimensions from slowest to fastest; fixing the layout turns it into strides */
    bool ordered;                /* a user of the buffer requires the order */
    bool fixed;
} ind_layout;

/* ------------------------------------------------------------------------------------------------- >>loops */

/* When a computed value is stored instead of inlined into its users: if storing moves fewer bytes than recomputing it
   in each user, and beyond these limits. Zero fields mean the default, the values measured by TorchInductor's authors
   (realize_reads_threshold and so on). */
typedef struct ind_realise_policy {
    int max_reads_shared; /* used more than once: store if it reads more buffers than this; default 4 */
    int max_ops_shared;   /* used more than once: store if its body has more ops than this; default 30 */
    int max_reads;        /* store any value that reads more buffers than this; default 8 */
    int max_ops;          /* store any value whose body has more ops than this; default 64 */
    int64_t look_steps;   /* scatters in a fixed order: each element scans all points if points * elements is at most
                             this; default 2^20 */
    int64_t list_bytes;   /* sums of rows of floats build lists of the few points per row if that saves at least so many
                             bytes; default 64 MiB, the bytes moved in the time of the launches that it needs */
    bool disable_parts;   /* a concatenation is stored as a whole, never in parts by the loops that compute them */
    bool disable_rows; /* a reduction over the results of rows (a mean of losses) reads these, not one value per row */
    /* Results of convolutions, and of the pools, norms and pointwise ops that follow, are stored with channels last:
       [N, C, H, W] with strides [H*W*C, 1, W*C, C]. Inputs and outputs keep their layout; the first and last kernels
       convert while they load and store. 0: those of f16 and bf16, with allow_tf32 of all types, if a GPU runs them;
       above 0: those of all types; below 0: none. */
    int channels_last;
} ind_realise_policy;

/* -------------------------------------------------------------------------------------------------- >>text */

/* (expressions: ind_expr_print above; bodies: ind__body_print below) */

/* ------------------------------------------------------------------------------------------------ >>eval */
/* (the evaluator is internal: ind__eval below) */

/* ========================================================================================== src/ir/base/compilers.h */
/* -------------------------------------------------------------------------------------------- >>internal */
/* From here on: shared between the five headers. Not for users; may change in any version. */

/* ---- compilers: GNU extensions if IND__GNU is 1, else ISO C. Defining IND__PORTABLE before the headers forces ISO C;
   the tests do so. ---- */

#if defined(__GNUC__) && !defined(IND__PORTABLE)
#define IND__GNU 1
#else
#define IND__GNU 0
#endif

#if IND__GNU && defined(__MINGW32__) && !defined(__clang__)
#define IND__PRINTF(f, a) __attribute__((format(gnu_printf, f, a))) /* C99 formats, not the system C library's */
#elif IND__GNU
#define IND__PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define IND__PRINTF(f, a)
#endif

/* Inlined so that a constant argument resolves the switch. */
#if IND__GNU
#define IND__ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define IND__ALWAYS_INLINE static inline
#endif

/* Between BEGIN and END gcc vectorises loops whose length is not constant, as clang does: at -O2 it does not. */
#if IND__GNU && !defined(__clang__)
#define IND__VECTORS_BEGIN                                                                                             \
    _Pragma("GCC push_options") _Pragma("GCC optimize(\"tree-vectorize\", \"vect-cost-model=dynamic\")")
#define IND__VECTORS_END _Pragma("GCC pop_options")
#else
#define IND__VECTORS_BEGIN
#define IND__VECTORS_END
#endif

/* u as two's complement. A plain conversion is implementation-defined for u > INT64_MAX. */
static inline int64_t ind__as_signed(uint64_t u) {
    return u <= INT64_MAX ? (int64_t)u : -(int64_t)(UINT64_MAX - u) - 1;
}

static inline bool ind__portable_add(int64_t a, int64_t b, int64_t *r) {
    const int64_t sum = ind__as_signed((uint64_t)a + (uint64_t)b);
    *r = sum;
    return b < 0 ? sum > a : sum < a;
}

static inline bool ind__portable_sub(int64_t a, int64_t b, int64_t *r) {
    const int64_t difference = ind__as_signed((uint64_t)a - (uint64_t)b);
    *r = difference;
    return b < 0 ? difference < a : difference > a;
}

static inline bool ind__portable_mul(int64_t a, int64_t b, int64_t *r) {
    const uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    const uint64_t most = (uint64_t)INT64_MAX + ((a < 0) != (b < 0)); /* magnitude of the result */
    *r = ind__as_signed((uint64_t)a * (uint64_t)b);
    return x && y > most / x;
}

/* *r = the result modulo 2^64; true if it overflows 64 bits. r may point to an operand's variable. */
static inline bool ind__add_overflow(int64_t a, int64_t b, int64_t *r) {
#if IND__GNU
    return __builtin_add_overflow(a, b, r);
#else
    return ind__portable_add(a, b, r);
#endif
}

static inline bool ind__sub_overflow(int64_t a, int64_t b, int64_t *r) {
#if IND__GNU
    return __builtin_sub_overflow(a, b, r);
#else
    return ind__portable_sub(a, b, r);
#endif
}

static inline bool ind__mul_overflow(int64_t a, int64_t b, int64_t *r) {
#if IND__GNU
    return __builtin_mul_overflow(a, b, r);
#else
    return ind__portable_mul(a, b, r);
#endif
}

/* ============================================================================================= src/ir/base/memory.h */
/* ---- memory: all through the context's allocator; NULL on failure, with IND_ERROR_OUT_OF_MEMORY set ---- */

void *ind__alloc(ind_context *c, size_t bytes);                                 /* zeroed */
void ind__free(ind_context *c, void *p);                                        /* NULL allowed */
void *ind__resize(ind_context *c, void *p, size_t old_bytes, size_t new_bytes); /* p survives failure */
bool ind__size_mul(size_t a, size_t b, size_t *out);                            /* false on overflow */

/* Bump allocator: freed as a whole. Zero-initialise with the context set. */
typedef struct ind__arena {
    ind_context *context;
    struct ind__arena_block *head;
    size_t used, capacity; /* of the head block */
} ind__arena;
void *ind__arena_alloc(ind__arena *a, size_t bytes); /* zeroed, 16-byte aligned */
void *ind__arena_copy(ind__arena *a, const void *data, size_t bytes);
char *ind__arena_string(ind__arena *a, const char *text, size_t length);
void ind__arena_free(ind__arena *a);

/* Growing array. The owner has `T *items; uint32_t num, capacity;`. IND__PUSH evaluates to a pointer to the new zeroed
   element or NULL. Growing may move the array: a push invalidates all pointers into it. */
void *ind__grow(ind_context *c, void **items, uint32_t *num, uint32_t *capacity, size_t item_bytes, uint32_t more);
#define IND__PUSH(c, T, items, num, capacity)                                                                          \
    ((T *)ind__grow((c), (void **)&(items), &(num), &(capacity), sizeof(T), 1))

/* Records the failure and returns status. printf format, with the limits of ind__textf. */
ind_status ind__fail(ind_context *c, ind_status status, const char *format, ...) IND__PRINTF(3, 4);
ind_status ind__failed(ind_context *c); /* the recorded status; IND_ERROR_VERIFY if none was recorded */
void ind__log(ind_context *c, int level, ind_log_category category, const char *format, ...) IND__PRINTF(4, 5);
bool ind__verifying(ind_context *c); /* true if the verifier is on */

/* Error state of a thread in a context: its last failure, and counters by which a caller sees what happened in a
   callee. Each thread has its own, so no thread sees a failure of another. */
typedef struct ind__state {
    uint32_t quiet;     /* > 0: failures of arithmetic are not recorded, as the caller handles them */
    uint32_t failures;  /* recorded so far */
    uint32_t refusals;  /* allocations refused, among these failures */
    uint32_t overflows; /* results beyond 64 bits, also while quiet: forms may then depend on how they were built */
    ind_status status;  /* of the last failure */
    char text[4096];
} ind__state;
ind__state *ind__state_of(const ind_context *c); /* the calling thread's; never NULL */
uint32_t ind__refusals(const ind_context *c);    /* ind__state_of(c)->refusals */
/* IND_ERROR_OUT_OF_MEMORY if an allocation was refused to this thread since ind__refusals was `before`. A proof that
   runs out of memory returns "not proven", and the result of a stage must not depend on that. */
ind_status ind__refused_since(const ind_context *c, uint32_t before);

/* Exclusive use of a context's expressions, facts and caches. Recursive: a thread may lock it again. */
void ind__lock(ind_context *c);
void ind__unlock(ind_context *c);

/* A context with its own expressions. It shares the allocator, logger, device, functions and errors of `root`. Every
   module is compiled and queried in one, so different modules share no expression table, and destroying a module frees
   its expressions. NULL on failure; freed with ind__context_leave. */
ind_context *ind__context_fork(ind_context *root);
void ind__context_leave(ind_context *c); /* NULL allowed */

/* Objects that a context owns: freed by ind_context_destroy in reverse order of creation. */
typedef struct ind__owned {
    struct ind__owned *prev, *next;
    void (*destroy)(struct ind__owned *self);
} ind__owned;
void ind__own(ind_context *c, ind__owned *o, void (*destroy)(ind__owned *));
void ind__disown(ind_context *c, ind__owned *o);

/* ---- string builder: grows, indents, sticky failure ---- */

typedef struct ind__text {
    ind_context *context;
    char *data; /* NULL before the first write, then always NUL-terminated */
    size_t size, capacity;
    int indent; /* levels of 4 spaces that ind__textf puts before each non-empty line */
    bool failed;
    bool mid_line;
} ind__text;
/* snprintf, faster for what texts consist of: %s, %.*s, %d, %u, %lld, %c and %%. */
int ind__format(char *out, size_t capacity, const char *format, ...) IND__PRINTF(3, 4);
int ind__format_list(char *out, size_t capacity, const char *format, va_list list);
/* printf without floating point (its text depends on the locale); numbers through ind__text_double. */
void ind__textf(ind__text *t, const char *format, ...) IND__PRINTF(2, 3);
void ind__text_raw(ind__text *t, const char *s, size_t n);
void ind__text_double(ind__text *t, double v);    /* shortest form that reads back exactly; inf, -inf, nan */
void ind__text_expr(ind__text *t, ind_expr e);    /* as ind_expr_print */
void ind__text_json(ind__text *t, const char *s); /* as a quoted JSON string */
void ind__text_free(ind__text *t);
ind_status ind__text_status(const ind__text *t);
bool ind__parse_double(const char *s, size_t n, double *out); /* locale-free */

uint64_t ind__hash(const void *data, size_t n, uint64_t seed);

/* =========================================================================================== src/ir/expr/internal.h */
/* ---- expressions ---- */

/* The rules of simplification: enumerator, name, law. The function that applies a rule has its proof;
   tests/unit/test_rules.c has a test for each. b > 0 unless stated otherwise. */
#define IND__EXPR_RULES(X)                                                                                             \
    X(COMBINE, "combine", "q*(x % m) + q*m*(x // m) = q*x")                                                            \
    X(COMBINE_MODULAR, "combine-modular", "q*(y % m) + q*m*((y // m) % n) = q*(y % (m*n))")                            \
    X(MOD_FROM_DIFFERENCE, "mod-from-difference", "q*x - q*m*(x // m) = q*(x % m)")                                    \
    X(FLOOR_FROM_DIFFERENCE, "floor-from-difference", "q*x - q*(x % m) = q*m*(x // m)")                                \
    X(EXACT_QUOTIENT, "exact-quotient", "b*(x // b) = x where b divides x")                                            \
    X(COMBINE_QUOTIENTS, "combine-quotients", "(x // a)*(y // b) = x*y // (a*b) where a divides x and b divides y")    \
    X(DIVIDE_ZERO, "divide-zero", "0 // b = 0 % b = 0")                                                                \
    X(DIVIDE_BY_ONE, "divide-by-one", "x // 1 = x, x % 1 = 0")                                                         \
    X(MULTIPLES, "multiples", "(b*q + r) // b = q + r // b, (b*q + r) % b = r % b, any sign of b")                     \
    X(LONG_DIVISION, "long-division", "the same for a divisor that is a sum")                                          \
    X(REDUCE, "reduce", "c*x % b = (c % b)*x % b for integers")                                                        \
    X(COMMON_FACTOR, "common-factor", "(g*r) // (g*b) = r // b, (g*r) % (g*b) = g*(r % b)")                            \
    X(IN_RANGE, "in-range", "a // b = 0 and a % b = a where 0 <= a < b")                                               \
    X(CONSTANT, "constant", "a // b = q where the bounds of a / b lie in [q, q + 1)")                                  \
    X(RESIDUE, "residue", "a % b = r where a fact says so")                                                            \
    X(NESTED, "nested", "(x // d + c) // b = (x + c*d) // (d*b)")                                                      \
    X(FLOOR_OF_MOD, "floor-of-mod", "(x % (b*m)) // b = (x // b) % m")                                                 \
    X(EXACT_COEFFICIENT, "exact-coefficient", "c*x // b = c*(x // b) where b divides x")                               \
    X(FLOOR_MULTIPLES, "floor-multiples", "((y + d*b*j) // d) % b = (y // d) % b")                                     \
    X(UNNEST, "unnest", "(c*(x % m) + r) % b = (c*x + r) % b where b divides c*m")                                     \
    X(SMALL_PART, "small-part", "(g*u + s) // (g*b) = u // b, (g*u + s) % (g*b) = g*(u % b) + s where 0 <= s < g")     \
    X(EXACT_SCALE, "exact-scale", "s // (s // k) = k, (s // k)*y // s = y // k where k divides s")                     \
    X(FLIP, "flip", "-a // b = -1 - (a - 1) // b, -a % b = b - 1 - (a - 1) % b")                                       \
    X(DOMINATED, "dominated", "Max(a, b) = b where a <= b")                                                            \
    X(LATTICE_COMMON_TERM, "lattice-common-term", "Min(a + c, b + c) = Min(a, b) + c")                                 \
    X(LATTICE_FACTOR, "lattice-factor", "Min(g*a, g*b) = g*Min(a, b), g*Max(a, b) for g < 0")                          \
    X(LATTICE_DIFFERENCE, "lattice-difference",                                                                        \
      "q*a - q*Min(a, b) = q*Max(0, a - b), q*a - q*Max(a, b) = q*Min(0, a - b)")                                      \
    X(LATTICE_PAIR, "lattice-pair", "Min(a, b) + Max(a, b) = a + b")                                                   \
    X(WHERE_NESTED, "where-nested", "Where(c, Where(c, x, y), z) = Where(c, x, z)")                                    \
    X(WHERE_LATTICE, "where-lattice", "Where(a < b, a, b) = Min(a, b)")

typedef enum ind__expr_rule {
#define X(id, name, law) IND__EXPR_RULE_##id,
    IND__EXPR_RULES(X)
#undef X
        IND__NUM_EXPR_RULES
} ind__expr_rule;
/* Name of rule 0 .. IND__NUM_EXPR_RULES - 1, with its law in *law (may be NULL); and the number of times it applied in
   this context. */
const char *ind__expr_rule_name(int rule, const char **law);
uint32_t ind__expr_rule_fired(const ind_context *c, int rule);

static inline bool ind__ok(ind_expr e) {
    return e.id != 0;
}
ind_expr ind__index_symbol(ind_context *c, char prefix, int slot, ind_expr extent); /* "i0", "r1", ..: a loop index */
ind_expr ind__indirect_symbol(ind_context *c, uint32_t value, ind_expr extent);     /* "t12" */
bool ind__expr_depends(ind_expr e, ind_expr symbol);
bool ind__expr_has_kind(ind_expr e, ind_symbol_kind kind); /* a symbol of this kind occurs in e */
bool ind__expr_is_size(ind_expr e);                        /* no loop index or indirect symbol occurs in e */
/* Appends the symbols of e, each once, to out (at most max); returns their number. */
int ind__expr_symbols(ind_expr e, ind_expr *out, int max);
/* e with from[i] (symbols) replaced by to[i], simultaneously. */
ind_expr ind__substitute(ind_expr e, const ind_expr *from, const ind_expr *to, int n);
/* A node of e's kind over n other arguments, built by the simplifying constructors. */
ind_expr ind__expr_rebuild(ind_expr e, const ind_expr *arg, int n);
/* Splits e == coefficient * symbol + rest; neither part contains the symbol. False if e is not affine in it. */
bool ind__affine(ind_expr e, ind_expr symbol, ind_expr *coefficient, ind_expr *rest);
uint32_t ind__num_exprs(const ind_context *c); /* interned so far */
/* Prints for emitted code. name(symbol) writes the name of each symbol. wide: literals and helper functions are "long
   long", else "int". Divisions of operands not proven nonnegative call ind_floordiv / ind_floormod. */
typedef void (*ind__symbol_name_fn)(ind__text *t, ind_expr symbol, void *user);
void ind__text_expr_c(ind__text *t, ind_expr e, bool wide, ind__symbol_name_fn name, void *user);
/* Parses an expression; symbols through find (invalid expr: unknown, an error at that position). *end is set to the
   first character not consumed. On failure returns invalid, with the message set and *end at the error. */
typedef ind_expr (*ind__find_symbol_fn)(const char *name, size_t length, void *user);
ind_expr ind__expr_parse(ind_context *c, const char *text, const char **end, ind__find_symbol_fn find, void *user);
/* Row-major linear index of `index` in `size`, and its inverse. */
ind_expr ind__linearise(ind_context *c, const ind_expr *index, const ind_expr *size, int rank);
void ind__delinearise(ind_context *c, ind_expr linear, const ind_expr *size, int rank, ind_expr *index);
ind_expr ind__align_up(ind_expr e, int64_t to);

/* ---- index expressions and the loops they are in ---- */

/* Imports expressions, facts and bodies of one context into another of the same root. Canonical form depends on
   structure alone, so the result is the same expression over the same symbols. Freed with ind__import_end. */
typedef struct ind__import {
    ind_context *to;
    struct ind__id_map {
        ind_context *context;
        uint32_t *slot; /* pairs of key (0: free) and value */
        uint32_t num, cap;
        uint32_t lent; /* if the slots are borrowed: their capacity; they are not freed here */
    } made;            /* expressions by their ids */
} ind__import;
ind__import ind__import_begin(ind_context *to);        /* everything imported with it must come from one context */
ind_expr ind__import_expr(ind__import *m, ind_expr e); /* invalid for the invalid one */
ind_status ind__import_facts(ind__import *m, const ind_facts *f, ind_facts *to); /* adds the facts of f to `to` */
void ind__import_end(ind__import *m);
/* e in context c: e itself, or imported. Invalid, with the error set, if the contexts have different roots. */
ind_expr ind__in_context(ind_context *c, ind_expr e);

/* x / y if y is proven to divide x; else invalid, without an error. */
ind_expr ind__exact_quotient(ind_expr x, ind_expr y);
/* Substitutes n*g + l for the loop index: g is the number of the vector, *lane = l in [0, n) the element in it. Both
   are new loop indices. Invalid, without an error, if `index` is no loop index. */
ind_expr ind__by_vectors(ind_expr e, ind_expr index, int n, ind_expr *lane);
/* If e grows by one with each step of the loop index, from every multiple of n to the next: e at those multiples, in a
   new loop index. Else invalid, without an error. */
ind_expr ind__run_base(ind_expr e, ind_expr index, int n);
int ind__expr_divisions(ind_expr e); /* number of // and %, counting repeated ones each time; saturates at INT_MAX */
/* a <= b for all sizes. Also splits maxima into cases, as offsets in memory plans require. */
bool ind__known_le_max(ind_expr a, ind_expr b);
/* ind_bounds under the facts in force. All code after the IR gets bounds of extents, offsets and counts from here. */
void ind__known_bounds(ind_expr e, int64_t *lo, int64_t *hi);

/* Several expressions as one straight-line program over int64 slots: slot i < num_inputs is input i. For launch
   formulas and the evaluator. */
typedef struct ind__program_op {
    uint8_t kind; /* ind_expr_kind; INT: value in imm */
    uint32_t a, b, c;
    int64_t imm;
} ind__program_op;
typedef struct ind__program {
    ind_context *context;
    uint32_t num_inputs;
    ind_expr *input; /* the symbols, in the order of the input slots */
    ind__program_op *op;
    uint32_t num_ops, cap_ops;
    struct ind__slot {
        uint32_t expr, slot;
    } * memo; /* open addressing, expression id to slot */
    uint32_t num_memo, cap_memo;
} ind__program;
ind_status ind__program_init(ind__program *p, ind_context *c, const ind_expr *inputs, uint32_t num_inputs);
/* Adds e; returns the slot of its value, UINT32_MAX on failure (an unknown symbol or no memory). */
uint32_t ind__program_add(ind__program *p, ind_expr e);
/* slots has num_inputs + num_ops entries; the caller fills the first num_inputs. */
/* Errors: IND_ERROR_OVERFLOW, IND_ERROR_INVALID_ARGUMENT (x // 0). */
ind_status ind__program_run(const ind__program *p, int64_t *slots);
void ind__program_close(ind__program *p); /* nothing is added any more: frees the memo */
void ind__program_free(ind__program *p);

/* ========================================================================================= src/ir/loops/functions.h */
/* ---- user functions ---- */

/* Immutable; allocated in the context's memory. */
typedef struct ind__function {
    const struct ind__function *next; /* created earlier */
    const char *name, *cuda;          /* cuda NULL: only the host twin was registered */
    const char *arg[IND_MAX_FUNCTION_ARGS];
    ind_dtype arg_dtype[IND_MAX_FUNCTION_ARGS], dtype;
    int num_args;
    ind_function_fn host;
    void *user;
    bool registered; /* found by name in the context; else declared by a text */
} ind__function;
/* Returns the registered function of this name; NULL: none. */
const ind__function *ind__function_find(const ind_context *c, const char *name);
/* Returns the function that a text declares, or an equal earlier one, with the host twin of the registered function.
   NULL on failure. */
const ind__function *ind__function_declare(ind_context *c, const char *signature, const char *cuda);
/* True if `given` promotes to `argument`. */
bool ind__function_takes(ind_dtype argument, ind_dtype given);
ind_value ind__emit_call(ind_ops *o, const ind__function *f, const ind_value *args);
void ind__function_print_signature(ind__text *t, const ind__function *f);

/* ---- extern calls ---- */

typedef struct ind__extern {
    const struct ind__extern *next; /* registered earlier */
    ind_extern_desc desc;
    bool product; /* a matrix product by cuBLASLt */
} ind__extern;
/* Like ind_extern_register. */
ind_status ind__extern_register(ind_context *context, const ind_extern_desc *desc, bool product);
const ind__extern *ind__extern_find(const ind_context *c, const char *name); /* NULL: not registered */

/* One operand of a call in a lowered program: a buffer, or a view of one. */
typedef struct ind__call_arg {
    uint32_t buffer;
    ind_extern_type type;
    ind_expr stride[IND_MAX_RANK], offset; /* of a view, in elements; offset invalid: contiguous */
} ind__call_arg;

/* An extern call in place of a loop. Its body describes its reads and writes to the analyses: it has no variables,
   loads one element of each buffer that the call reads, and stores one of each that it writes. */
typedef struct ind__extern_call {
    const char *name;
    const ind__extern *op; /* NULL: not registered */
    ind__call_arg *arg;    /* inputs, then outputs */
    uint32_t num_inputs, num_outputs;
    uint32_t workspace; /* buffer of bytes, written by the call; 0: none */
} ind__extern_call;
/* Returns IND_ERROR_NOT_SUPPORTED, with the call's name, if it has no callback for the device. */
ind_status ind__call_needs(ind_context *c, const ind__extern_call *call, ind_device device);

/* ========================================================================================== src/ir/loops/internal.h */
/* ---- bodies ---- */

#define IND__MAX_ARGS IND_MAX_FUNCTION_ARGS

typedef struct ind__inst {
    uint8_t op;        /* ind_loop_op */
    uint8_t dtype;     /* of the result; for STORE and LOAD, source's dtype is the type in memory */
    uint8_t reduction; /* REDUCE: ind_reduction; SCAN: ind_scan; STORE: NONE replaces the element, SUM PROD MAX MIN
                          combine with it atomically */
    uint8_t flags;     /* IND__INST_* */
    uint32_t arg[IND__MAX_ARGS]; /* instruction numbers, 0: none; always lower than this one's */
    union {
        double f;
        int64_t i;
        const struct ind__function *function;
    } imm;
    uint32_t source; /* LOAD, STORE: buffer number (or operand number while recording a graph op). INDIRECT: buffer of
                        the ends of groups of rows, in [0, rows], if the index is the group of a row: the number of ends
                        that are at most the row, limited to the last group; else 0 */
    uint32_t index;  /* LOAD, STORE, INDEX: first of num_index entries in body->index; INDIRECT: [extent, symbol] */
    uint32_t num_index; /* LOAD, STORE: rank until layouts are fixed, then 1 (linear offset in elements) */
} ind__inst;
#define IND__INST_WRAP      1 /* INDIRECT: negative values count from the end */
#define IND__INST_EXCLUSIVE 4 /* SCAN: of all earlier points; zeros at the first */
#define IND__INST_INNER     4 /* REDUCE: over the inner R variables alone (ind_body.inner) */
#define IND__INST_SCATTER   2 /* STORE: several points may store the same element; in order, the last one remains */
#define IND__INST_CHECKED                                                                                              \
    16 /* INDIRECT: an earlier loop has checked the index, so the check is dead if the value is not read */
#define IND__INST_SELDOM 32 /* STORE: its mask is true for few points; a hint */
#define IND__INST_RUN    8  /* STORE: the values of a run of rows of P points are combined; see ind__buffer.run */
/* REDUCE of products: every 128 of them may be added with the precision of tensor cores for 8-bit floats. */
#define IND__INST_TENSOR_SUMS 64
#define IND__INST_FAST_SUMS   128 /* all of them may */

/* Straight-line SSA over the loop indices var[0..rank) and the reduction indices var[rank..rank+rrank). inst[0] is
   none. A recorded body and its arrays are one block of memory; the arrays cannot grow. */
typedef struct ind_body {
    ind_context *context;
    int rank, rrank;
    int inner; /* number of inner R variables: the last ones. A REDUCE with IND__INST_INNER reduces only these, and has
                  a result per point of the other R variables. Any other REDUCE is over those. */
    ind_expr *var;
    ind__inst *inst;
    uint32_t num_inst, cap_inst;
    ind_expr *index;
    uint32_t num_index, cap_index;
    uint32_t result;              /* the loop's value before it is stored; 0 once STOREs exist */
    const ind__extern_call *call; /* not NULL: an extern call; the body only describes the memory that it accesses */
} ind_body;

/* A handler is a larger struct with this one as first member. emit gets an instruction whose args are the handler's own
   values and whose index expressions are at `index`; returns the value. */
struct ind_ops {
    ind_context *context;
    ind_value (*emit)(ind_ops *o, const ind__inst *inst, const ind_expr *index);
    ind_value (*load_tensor)(ind_ops *o, ind_tensor x, const ind_expr *index, int rank);
    ind_dtype (*dtype)(ind_ops *o, ind_value v);
    ind_expr (*indirect_symbol)(ind_ops *o, ind_value v); /* the index symbol of an INDIRECT value */
    ind_value mask;                                       /* mask of all loads being emitted; 0: none */
    struct ind__origins *origins; /* collects the graph nodes of inlined code; NULL: not recorded */
    struct ind__capture *capture; /* receives a scatter instead of emitting it; NULL: the scatter is emitted */
    bool checked;                 /* ind_op_indirect: an earlier loop has checked the indices in memory */
    uint32_t group_ends;          /* ind_op_indirect: the buffer from which the group of a row is found; 0: no group */
    bool seldom;                  /* ind__emit_scatter: the mask is true for few points */
};
ind_value ind__emit1(ind_ops *o, ind_loop_op op, ind_value a);
ind_value ind__emit2(ind_ops *o, ind_loop_op op, ind_value a, ind_value b);
ind_value ind__emit_load(ind_ops *o, uint32_t source, ind_dtype memory_dtype, const ind_expr *index, int rank);
void ind__emit_store(ind_ops *o, uint32_t source, const ind_expr *index, int rank, ind_value v);
/* Stores v where `mask` is true (id 0: everywhere), combined with the stored element (see ind__inst.reduction). */
void ind__emit_scatter(ind_ops *o, uint32_t source, const ind_expr *index, int rank, ind_value v, ind_value mask,
                       ind_reduction mode);
bool ind__can_scatter(ind_reduction mode); /* true if it is one of the modes of a STORE */
/* The neutral element of a sum, product or extreme. */
double ind__neutral_float(ind_reduction r);
int64_t ind__neutral_int(ind_reduction r, ind_dtype d);
typedef struct ind__capture { /* the arguments of a captured scatter */
    bool checked;             /* in: an earlier loop has checked its indices */
    bool set;
    ind_expr index[IND_MAX_RANK];
    ind_value value, mask;
} ind__capture;
ind_value ind__emit_reduce(ind_ops *o, ind_reduction r, ind_value a, ind_value b, int flags);
ind_value ind__emit_part(ind_ops *o, ind_value reduce, int which);
ind_value ind__emit_scan(ind_ops *o, ind_scan kind, ind_value a);
ind_value ind__emit_scan_part(ind_ops *o, ind_value scan, int which); /* 0: the value, 1: the position */
ind_value ind__emit_state(ind_ops *o, ind_dtype dtype, int which);
/* A scan of n elements. combined[] are the combined values, computed from the states 0..n-1 (left) and n..2n-1
   (right). */
ind_value ind__emit_combine_scan(ind_ops *o, const ind_value *element, const ind_value *combined, int n,
                                 bool exclusive);

/* Recorder: the handler that writes a body; hash-conses and folds trivial identities. */
typedef struct ind__recorder {
    ind_ops ops;    /* must be first */
    ind_body *body; /* in memory of the recorder */
    uint32_t table_size;
    void *user;
} ind__recorder;
ind_status ind__record_begin(ind__recorder *r, ind_context *c, const ind_expr *ranges, int rank,
                             const ind_expr *rranges, int rrank); /* starts a body with index symbols i0.., r0.. */
ind_body *ind__record_end(ind__recorder *r); /* a copy of r->body, NULL on failure; owned by the caller */
void ind__record_abort(ind__recorder *r);
void ind__body_free(ind_body *b);
ind_body *ind__import_body(ind__import *m, const ind_body *b); /* a copy; NULL on failure */

/* The loops of a body while they are rewritten: loop indices var[0..rank), reduction indices after them, their extents,
   and every index expression of the body in terms of them. value[] gives, for each original variable of the body, its
   value in the new ones. */
typedef struct ind__loops {
    ind_context *context;
    int rank, rrank;
    ind_expr var[2 * IND_MAX_RANK], extent[2 * IND_MAX_RANK];
    ind_expr *index; /* as many as the body has, owned by the caller; all decide whether a rewriting is allowed */
    uint32_t num_index;
    int num_from;
    ind_expr value[2 * IND_MAX_RANK];
    uint32_t refusals; /* at initialisation */
    bool failed;       /* out of memory: a "no" of the functions below may be due to it */
} ind__loops;
/* Initialises the loops from the body; `index` must have capacity for body->num_index expressions. */
void ind__loops_init(ind__loops *l, const ind_body *body, ind_expr *index);
bool ind__loops_drop_ones(ind__loops *l); /* removes variables of extent 1; false on failure */
/* Merges variables v and v + 1 (both parallel or both of the reduction). Returns false, with nothing changed, if an
   index would need a division that it does not have. */
bool ind__loops_merge(ind__loops *l, int v);
/* The same with any divisions. False, with nothing changed: the extent of v + 1 may be 0. */
bool ind__loops_join(ind__loops *l, int v);
/* The best size to split variable v: v = size * outer + inner resolves `saved` (may be NULL) of the divisions in the
   indices. Invalid if no split resolves any. */
ind_expr ind__loops_split_size(const ind__loops *l, int v, int *saved);
bool ind__loops_split(ind__loops *l, int v, ind_expr size); /* false, with nothing changed: too many loops */

/* Runs a body under another handler, with its loop indices replaced by `var` (rank + rrank expressions). load, store:
   called for each LOAD / STORE to redirect it (NULL: emitted unchanged). load may return any value, for example an
   inlined one; the arguments of `inst` are values of the handler. map (num_inst entries, may be NULL) receives each
   instruction's value. Returns the value of body->result. */
typedef struct ind__replay {
    const ind_body *body;
    const ind_expr *var;
    ind_value (*load)(ind_ops *o, const ind__inst *inst, const ind_expr *index,
                      void *user); /* index already replaced */
    void (*store)(ind_ops *o, const ind__inst *inst, const ind_expr *index, void *user);
    ind_value (*reduce)(ind_ops *o, const ind__inst *inst, void *user);
    void *user;
    uint32_t *map;
} ind__replay;
ind_value ind__body_replay(ind_ops *o, const ind__replay *r);

void ind__body_print(ind__text *t, const ind_body *b, const char *(*buffer_name)(uint32_t, void *), void *user);
ind_status ind__body_verify(const ind_body *b);
/* IND_ERROR_NOT_SUPPORTED, naming it, if the body is a call or has a function without a host twin. */
ind_status ind__body_needs_host(const ind_body *b);
const char *ind__loop_op_name(ind_loop_op op);
int ind__loop_op_arity(ind_loop_op op);
char ind__loop_op_class(ind_loop_op op);
const char *ind__reduction_name(ind_reduction r);
int ind__reduction_results(ind_reduction r);
const char *ind__scan_name(ind_scan s);
int ind__scan_results(ind_scan s);
bool ind__scan_sorts(ind_scan s);
uint32_t ind__body_scan(const ind_body *b); /* its first SCAN; 0: none */
uint32_t ind__body_sort(const ind_body *b); /* its SCAN that sorts, at most one per body; 0: none */

/* ============================================================================================ src/ir/loops/packed.h */
/* ------------------------------------------------------------------------------------------------- >>packed */

/* Formats of packed tensors, whose elements are read from blocks of bytes. Enumerator, text name, elements per block,
   bytes per block, scale in a tensor of its own. INT4: the block is a group of 32; groups of 64 and 128 are longer. */
#define IND__QUANTISED_FORMATS(X)                                                                                      \
    X(F16, "f16", 1, 2, false)                                                                                         \
    X(BF16, "bf16", 1, 2, false)                                                                                       \
    X(Q8_0, "q8_0", 32, 34, false)                                                                                     \
    X(Q4_0, "q4_0", 32, 18, false)                                                                                     \
    X(Q4_1, "q4_1", 32, 20, false)                                                                                     \
    X(Q5_0, "q5_0", 32, 22, false)                                                                                     \
    X(Q5_1, "q5_1", 32, 24, false)                                                                                     \
    X(Q2_K, "q2_k", 256, 84, false)                                                                                    \
    X(Q3_K, "q3_k", 256, 110, false)                                                                                   \
    X(Q4_K, "q4_k", 256, 144, false)                                                                                   \
    X(Q5_K, "q5_k", 256, 176, false)                                                                                   \
    X(Q6_K, "q6_k", 256, 210, false)                                                                                   \
    X(IQ4_NL, "iq4_nl", 32, 18, false)                                                                                 \
    X(IQ4_XS, "iq4_xs", 256, 136, false)                                                                               \
    X(INT4, "int4", 32, 16, true)                                                                                      \
    X(MXFP4, "mxfp4", 32, 16, true)                                                                                    \
    X(NVFP4, "nvfp4", 16, 8, true)

typedef enum ind__quantised {
#define X(name, text, elements, bytes, scaled) IND__QUANTISED_##name,
    IND__QUANTISED_FORMATS(X)
#undef X
        IND__NUM_QUANTISED
} ind__quantised;

/* Returns `value`, an f32 computed from the bytes of a packed tensor, and records of what format its element is, so
   that a template can read whole blocks in place of it. first: byte 0 of the element's block, as i32. scale, zero:
   those of the element, for formats that have them in tensors of their own (id 0: none); for the others scale is the
   number of the element in its block. group: elements per scale, of INT4. imm.i of the instruction is
   format | group << 8. */
ind_value ind__op_packed(ind_ops *o, ind_value value, ind_value first, ind_value scale, ind_value zero,
                         ind__quantised format, int64_t group);

/* =========================================================================================== src/ir/loops/program.h */
/* ---- lowered program: buffers and loops ---- */

typedef enum ind__buffer_kind { IND__BUFFER_INPUT, IND__BUFFER_CONST, IND__BUFFER_COMPUTED } ind__buffer_kind;

typedef struct ind__buffer {
    const char *name; /* user's name for inputs, constants and outputs; "buf3" else */
    ind__buffer_kind kind;
    ind_dtype dtype;
    uint32_t loop;   /* number of the loop that writes it (COMPUTED) */
    uint32_t output; /* 1 + position among the graph's outputs, 0: not an output */
    /* Mutation creates a new version of a buffer. Both versions share memory and layout. The loop that writes the new
       version stores changed elements only. It runs after all readers of the old version. 0: none. */
    uint32_t mutates, mutated_by;
    uint32_t binding; /* inputs, constants, outputs: position in the module's binding list */
    bool partial;     /* partial results: the first stage of a reduction writes it, the second reads it */
    bool padded_rows; /* padded so that a product copies 16 bytes at a time: no product computes it in its loads */
    bool donated;     /* INPUT: its memory may be reused after its last reader, or changed in place */
    /* If > 0: one partial result per run of `run` consecutive P points; the last run may be shorter. For every R point,
       the kernel combines the values of a run's P points. Its stores have IND__INST_RUN and the index
       run * points of R + R point. The memory is undefined before. */
    int64_t run;
    /* A version that contains a part of a concatenation: the loop stores only [part_begin, part_end) of dimension
       part_dim. Only the last version is read. part_end invalid: not a part. */
    int part_dim;
    ind_expr part_begin, part_end;
    ind_layout layout;
} ind__buffer;

#define IND__MAX_STATES       5  /* values per element of a combine function, including a segment's flag */
#define IND__MAX_SCANS        16 /* in one body */
#define IND__MAX_LOOP_OUTPUTS (IND_MAX_EXTERN_RESULTS + 1)

/* A value that is concatenated from parts along a dimension (cat, stack). For each part: its end, and the graph nodes
   that were computed for this part only. */
typedef struct ind__part_info {
    ind_expr end;
    const uint32_t *origin;
    uint32_t num_origins;
} ind__part_info;
typedef struct ind__parts {
    int dim;
    uint32_t num;
    uint32_t origin; /* graph node of the whole */
    ind__part_info *part;
} ind__parts;

/* One loop nest: writes its buffers over ranges, reducing over rranges (none for a pointwise loop). */
typedef struct ind__loop {
    ind_body *body;          /* with STOREs; owned */
    ind_reduction reduction; /* IND_REDUCE_NONE: pointwise. Several REDUCEs of a body share the ranges */
    uint32_t *origin;        /* graph nodes it came from, ascending; in the program's arena */
    uint32_t num_origins;
    uint32_t output[IND__MAX_LOOP_OUTPUTS]; /* buffers written */
    uint32_t num_outputs;
    const char *note;        /* for texts: the reason for the loop's form; NULL: none */
    const char *purpose;     /* for texts, before the results of its ops: NULL: "computes" */
    const ind__parts *parts; /* of the stored value; NULL: none */
    bool after_product;      /* stored only so that the kernel of the product that it reads computes it */
} ind__loop;

/* A size that depends on data (unbacked): a symbol, and the i64 buffer of one element that holds its value. Every loop
   with the symbol in a range or an index reads that buffer. */
#define IND__MAX_UNBACKED 64 /* per graph: a set of them is a 64-bit mask */
typedef struct ind__unbacked {
    ind_expr symbol, most; /* most: an upper bound, as a formula in the declared sizes */
    uint32_t buffer;       /* 0 in a graph */
    uint32_t node;         /* in a graph: the op that defines it */
    uint32_t source;       /* in a graph: the tensor whose nonzero elements it counts; 0: another count */
    ind_expr equal;        /* in a graph: the expression that replaces it, declared equal; invalid: none */
} ind__unbacked;
/* Returns an upper bound of e as a formula without the listed symbols; invalid, without an error, if none is found. */
ind_expr ind__most(const ind__unbacked *list, uint32_t num, ind_expr e);
/* Returns the listed symbols that e contains, as a bit mask. */
uint64_t ind__unbacked_in(const ind__unbacked *list, uint32_t num, ind_expr e);
/* A buffer that graph node `op` copied or rewrote as a whole instead of changing a part in place: `reader` needs its
   old contents. */
typedef struct ind__copied_whole {
    uint32_t buffer, op, reader; /* reader: a graph node; op itself; or UINT32_MAX: an output */
} ind__copied_whole;

/* What ind_compile_desc says of kernels. */
typedef struct ind__kernel_options {
    bool batch_invariant; /* what computes a row must not depend on the number of rows */
    bool allow_tf32;      /* products may round f32 operands to tf32 */
    bool tcgen05;         /* products may use tcgen05.mma */
    bool persistent;      /* consecutive small launches may be one */
    uint32_t watchdog_ms; /* .. whose tasks wait at most so long; 0: no limit */
} ind__kernel_options;

typedef struct ind__lowered {
    ind_context *context;
    ind__arena arena;
    ind__buffer *buffer; /* [0] is none */
    uint32_t num_buffers, cap_buffers;
    ind__loop *loop; /* in execution order */
    uint32_t num_loops, cap_loops;
    ind__copied_whole *copied_whole; /* for the schedule's text */
    uint32_t num_copied_whole, cap_copied_whole;
    ind_realise_policy policy;
    ind__kernel_options options;
    bool layouts_fixed; /* all loads and stores are linear from then on */
    ind__arena boxes;   /* boxes and storages */
    void *storages;     /* every storage, newest first */
    uint32_t origin;    /* graph node being lowered now: recorded in new loops and storages */
    int channels_last;  /* dimensions of its results, if these have channels last; 0: they do not */
    ind__unbacked unbacked[IND__MAX_UNBACKED];
    uint32_t num_unbacked;
    const char *note, *purpose; /* recorded in new loops */
} ind__lowered;

ind_status ind__lowered_init(ind__lowered *p, ind_context *c, const ind_realise_policy *policy);
void ind__lowered_free(ind__lowered *p);
void ind__lowered_free_boxes(ind__lowered *p); /* and the values that were not stored */
uint32_t ind__lowered_input(ind__lowered *p, const char *name, ind__buffer_kind kind, ind_dtype dtype,
                            const ind_expr *size, int rank); /* contiguous; 0 on failure */
/* Turns orders into strides and every multi-dimensional access into a linear offset; drops loops without readers.
   Before that, stored concatenations are split if splitting moves fewer bytes. A part that a reduction or a matrix
   product computes gets its own loop, which can be fused into that kernel. Each gap between such parts is copied by one
   loop. Each loop writes its part of a new version of one buffer. */
ind_status ind__lowered_fix_layouts(ind__lowered *p);
/* Returns the REDUCE of a body that can be computed in two stages, else 0. It is a SUM, PROD, MAX, MIN or ANY, stored
   directly or cast. Any order of combining is as good (a sum of floats: other roundings, not more of them). */
uint32_t ind__body_splits(const ind_body *b);
/* How one loop is split into two stages. */
typedef struct ind__split {
    int outer;            /* the first stage reduces over all R dimensions but the first `outer`; 0: see run */
    int64_t run;          /* the first stage swaps R and P and combines runs of `run` points of its P */
    const ind_expr *size; /* with outer: R has these dimensions instead, with the same points; NULL: the body's */
    int num_sizes;
} ind__split;
/* Splits each loop whose split is not zero and whose body splits into two: the second reduces the results of the first.
   Requires fixed layouts. */
ind_status ind__lowered_split(ind__lowered *p, const ind__split *split);
ind_status ind__lowered_verify(const ind__lowered *p);
/* Returns the unbacked symbols in the ranges and indices of a body, as a bit mask. */
uint64_t ind__body_unbacked(const ind__lowered *p, const ind_body *body);
/* Returns an upper bound of the buffer's bytes for all data. Error: IND_ERROR_NOT_SUPPORTED. */
ind_expr ind__buffer_most_bytes(const ind__lowered *p, const ind__buffer *b);
/* Returns the name of a graph node's op, or of its results ("values, indices"); NULL: unknown. */
typedef const char *(*ind__node_name_fn)(uint32_t node, void *user);
/* Prints the nodes' results and ops: "h (linear), y (gelu)"; if result_name is NULL, "linear, gelu". */
void ind__print_made(ind__text *t, const uint32_t *node, uint32_t num, ind__node_name_fn origin_name,
                     ind__node_name_fn result_name, void *user);
/* Both functions may be NULL; with them each loop lists its results. */
void ind__lowered_print(ind__text *t, const ind__lowered *p, ind__node_name_fn origin_name,
                        ind__node_name_fn result_name, void *user);
/* Returns the version whose memory all versions of the buffer share: the last if it is an output, else the first. */
uint32_t ind__buffer_home(const ind__lowered *p, uint32_t buffer);
ind_expr ind__buffer_numel(const ind__buffer *b); /* elements the layout spans */
ind_expr ind__buffer_bytes(const ind__buffer *b);

/* TensorBox: a view of a storage. The view is a map: the storage's index as expressions in the box's index symbols. The
   storage is either an unrealised body (users inline it) or a buffer. Realising stores the body in a buffer for all
   views. */
typedef struct ind__storage {
    ind_dtype dtype; /* as stored */
    int rank;
    ind_expr size[IND_MAX_RANK];
    ind_body *body;              /* unrealised: result over size */
    uint32_t buffer;             /* realised: buffer number */
    uint32_t num_reads, num_ops; /* of body */
    double read_bytes, bytes;    /* bytes read by the body; bytes written by storing its result; at the hints */
    uint32_t last_reader;        /* for lowerings: the last graph node that reads it in any view */
    uint32_t *origin;
    uint32_t num_origins;
    const ind__parts *parts;     /* NULL: none */
    uint8_t order[IND_MAX_RANK]; /* unrealised: of the buffer to be, if ordered */
    bool ordered;
} ind__storage;

typedef struct ind__box {
    ind__storage *storage;
    int rank;
    ind_expr size[IND_MAX_RANK];
    bool identity;              /* map[i] == index i */
    ind_expr map[IND_MAX_RANK]; /* storage rank entries, in the symbols ind__index_symbol(c, 'i', d, size[d]) */
} ind__box;

/* All return NULL on failure (message set); boxes live until ind__lowered_free_boxes. */
ind__box *ind__box_buffer(ind__lowered *p, uint32_t buffer);
ind__box *ind__box_pointwise(ind__lowered *p, ind_dtype dtype, const ind_expr *size, int rank, ind_loop_fn fn,
                             void *user);
/* Reduction: fn gets rank + rrank indices and returns the value to reduce (and, for DOT, second_fn the other operand).
   The result has `size`; rrange are the reduction ranges; results[k] for k < results of the reduction; always
   stored. */
typedef struct ind__reduction_desc {
    ind_reduction type;
    ind_dtype dtype; /* of the results as stored */
    const ind_expr *size;
    int rank;
    const ind_expr *rrange;
    int rrank;
    ind_loop_fn fn, second_fn;
    void *user;
    int flags; /* IND__INST_* of the REDUCE */
} ind__reduction_desc;
ind_status ind__box_reduction(ind__lowered *p, const ind__reduction_desc *d, ind__box **results);
/* Scatter: for every point of `size`, fn stores into the buffer through ind__emit_scatter(o, d->version, ..) at
   computed indices (usually ind_op_indirect). Other elements keep their value in x, which must be a whole buffer
   (x->identity) without later readers. If fn reads elements of x other than the one that the same point stores, all
   unrealised readers of x are stored first and fn is run again. So fn must load such boxes, not x itself. *result is
   the new version. */
typedef struct ind__scatter_desc {
    const ind_expr *size;
    int rank;
    void (*fn)(ind_ops *o, const ind_expr *index, int rank, uint32_t version, void *user);
    void *user;
    bool each_once; /* no two points store the same element, so a point may read the element that it stores */
} ind__scatter_desc;
ind_status ind__box_scatter(ind__lowered *p, ind__box *x, const ind__scatter_desc *d, ind__box **result);
/* Returns a box over a new buffer that holds a copy of x. */
ind__box *ind__box_copy(ind__lowered *p, ind__box *x);
/* Scan or sort along dimension `dim` of `size`: fn gets rank indices and returns the element. Every result has `size`;
   results[0] is stored as `dtype`, positions as i64. Sorts compare elements as they are stored. */
typedef struct ind__scan_desc {
    ind_scan kind;
    ind_dtype dtype;
    const ind_expr *size;
    int rank, dim;
    ind_loop_fn fn;
    void *user;
} ind__scan_desc;
ind_status ind__box_scan(ind__lowered *p, const ind__scan_desc *d, ind__box **results);
/* Scan of num values per element along dimension `dim` of `size`, results[k] stored as dtype[k]. A state has `states`
   values: the first num are the results, the others are for combine only (a flag at the start of a segment). element
   fills `states` values; combine fills them from `states` left and `states` right ones. finish (exclusive only) gives
   the result of points without predecessors in their segment. reverse: from the last to the first. */
typedef struct ind__combine_desc {
    int num, states;
    const ind_dtype *dtype;
    const ind_expr *size;
    int rank, dim;
    bool reverse, exclusive;
    bool (*element)(ind_ops *o, const ind_expr *index, ind_value *out, void *user);
    bool (*combine)(ind_ops *o, const ind_value *left, const ind_value *right, ind_value *out, void *user);
    ind_value (*finish)(ind_ops *o, const ind_expr *index, int which, ind_value v, void *user);
    void *user;
} ind__combine_desc;
ind_status ind__box_combine(ind__lowered *p, const ind__combine_desc *d, ind__box **results);
/* Extern call. An input k with overwrites[k] must be a whole buffer that may be changed (as for a scatter). Its new
   version is the next result after the declared ones. workspace: bytes, invalid for none. */
typedef struct ind__call_desc {
    const char *name;
    ind__box *const *input;
    const bool *overwrites;
    uint32_t num_inputs;
    const ind_extern_type *result;
    uint32_t num_results;
    ind_expr workspace;
} ind__call_desc;
ind_status ind__box_call(ind__lowered *p, const ind__call_desc *d, ind__box **results);
/* Returns a view with new sizes: map[k] is x's index k in the symbols i0.. of the new sizes. */
ind__box *ind__box_view(ind__lowered *p, ind__box *x, const ind_expr *size, int rank, const ind_expr *map);
/* Row-major reshape. For a permuted view of a buffer whose order is not fixed, the order is chosen so that the reshape
   needs no division. */
ind__box *ind__box_reshape(ind__lowered *p, ind__box *x, const ind_expr *size, int rank);
/* Gives `count` dimensions of x from `first` on the smallest strides of the buffer of x, or of the buffer to be. Does
   nothing if the layout is required otherwise already, or if x shows these dimensions mixed with others. */
void ind__box_put_last(ind__lowered *p, ind__box *x, int first, int count);
ind_status ind__box_realise(ind__lowered *p, ind__box *x);
/* Applies the realise policy to a value that `users` later ops will read. */
ind_status ind__box_mark_use(ind__lowered *p, ind__box *x, int users);
/* Returns an element of x inside a loop function (inlines x's body or loads its buffer). */
ind_value ind__box_load(ind_ops *o, const ind__box *x, const ind_expr *index, int rank);
/* Makes x an output of the graph: stored contiguously under this name; copies only if necessary. */
ind_status ind__box_output(ind__lowered *p, ind__box *x, const char *name, uint32_t position);

/* ========================================================================================== src/ir/loops/evaluate.h */
/* ---- evaluator: runs instructions of a body for a block of up to IND__LANES points ---- */

#define IND__LANES 256
typedef union ind__lanes { /* by the value's dtype: f for f32, d for f64, i for integers and bool */
    float f[IND__LANES];
    double d[IND__LANES];
    int64_t i[IND__LANES];
} ind__lanes;

typedef struct ind__eval_buffer {
    void *data;
    int64_t numel; /* addressable elements: accesses outside are an IND_ERROR_VERIFY error, not a crash */
    ind_dtype dtype;
} ind__eval_buffer;

typedef struct ind__eval {
    const ind_body *body;
    const ind__eval_buffer *buffer; /* by buffer number */
    uint32_t num_buffers;
    ind__lanes *value; /* one per instruction */
    /* compiled index expressions; inputs: the sizes, then var[], then indirect symbols */
    ind__program program;
    uint32_t num_sizes;
    uint32_t *index_slot; /* per body->index entry */
    int64_t (*slots)[IND__LANES];
    uint8_t *varying;            /* per slot: true if it differs between lanes */
    uint32_t *cone, *cone_begin; /* per body->index entry: the program ops that it depends on, in order */
    uint32_t *stamp, epoch;   /* per program op: epoch in which it was last computed; every new point starts an epoch */
    uint32_t *indirect_input; /* per instruction: input slot of its index symbol */
    int lanes;
    struct {
        uint32_t inst;
        int64_t value, size;
        bool set;
    } bad_index; /* first failed check */
    bool bad_access;
} ind__eval;
/* size_symbols and size_values: all sizes that the body uses; further ones are allowed. */
ind_status ind__eval_init(ind__eval *e, ind_context *c, const ind_body *body, const ind_expr *size_symbols,
                          const int64_t *size_values, uint32_t num_sizes, const ind__eval_buffer *buffers,
                          uint32_t num_buffers);
/* Without memory for values: value, slots, varying and stamp are NULL, and the caller sets them in a copy. */
ind_status ind__eval_compile(ind__eval *e, ind_context *c, const ind_body *body, const ind_expr *size_symbols,
                             uint32_t num_sizes, uint32_t num_buffers);
void ind__eval_free(ind__eval *e);
/* Sets loop variable `var` (0-based in body->var) for the next blocks: value + step * lane. */
void ind__eval_set_var(ind__eval *e, int var, int64_t value, int64_t step);
void ind__eval_set_var_lanes(ind__eval *e, int var, const int64_t *values, int lanes);

/* Copies the value in lane 0 to the first `lanes` lanes. */
void ind__eval_spread(ind__lanes *v, ind_dtype d, int lanes);
/* The value of index expression `index` of the body in lane 0. It may not depend on values. */
int64_t ind__eval_index(ind__eval *e, uint32_t index);
/* Runs the listed instructions in order for `lanes` points. The caller must fill in REDUCE, SCAN, STATE and PART before
   their use; STOREs write memory. The caller records IND_ERROR_VERIFY (e->bad_access): worker threads run this function
   and record no failure. */
ind_status ind__eval_run(ind__eval *e, const uint32_t *inst, uint32_t num, int lanes);
/* Initialises the partial results of runs of rows with the neutral element. */
void ind__eval_begin_runs(ind__eval *e);
/* Compares two elements in memory: < 0, 0 or > 0; NaN is larger than every number and equal to NaN. */
int ind__element_order(const ind__eval_buffer *m, int64_t a, int64_t b);
int64_t ind__wrap_int(ind_dtype d, int64_t v); /* v converted to the integer type: wraps around; bool is v != 0 */
float ind__f16_to_f32(uint16_t h);
uint16_t ind__f32_to_f16(float f); /* to nearest, ties to even */
float ind__bf16_to_f32(uint16_t h);
uint16_t ind__f32_to_bf16(float f);
/* The 8-bit floats, rounded to nearest even. Above 464 e4m3fn is NaN; from 61440 on e5m2 is infinite. */
float ind__f8e4m3fn_to_f32(uint8_t x);
float ind__f8e5m2_to_f32(uint8_t x);
uint8_t ind__f32_to_f8e4m3fn(float f);
uint8_t ind__f32_to_f8e5m2(float f);

/* =========================================================================================== src/ir/base/internal.h */
/* ---- the context ---- */

struct ind__interner;
struct ind_context {
    ind_context_desc desc;
    ind_context *root; /* the user's context: itself, unless this is a module's context (ind__context_fork) */
    struct ir__lock *lock;
    struct ind__interner *interner;
    struct ir__record_memory *record_memory; /* of a recording that has ended, for the next one; NULL: none */
    ind__owned *owned;                       /* newest first; guarded by the root's `lists` */
    /* Used in the root only. */
    struct ir__states *states; /* one per thread */
    struct ir__lock *lists;    /* guards the fields below and every list of owned objects; held for a few steps only */
    ind__arena names;
    const struct ind__function *functions; /* newest first */
    const struct ind__extern *externs;     /* newest first */
    const void *builtin_patterns;          /* of inductor.h: parsed by the first compile */
    const void *patterns, *passes;         /* of inductor.h: what the user has registered, newest first */
    const void *schemas; /* of inductor.h: operands and attributes of every op; allocated in `names` */
    void *runtime;       /* of inductor_runtime.h: devices, compiled kernels */
    void (*runtime_destroy)(ind_context *);
};
/* Exclusive use of the root's lists and `names`, for a few steps. The holder must not call anything that waits. */
void ind__lists_lock(ind_context *c);
void ind__lists_unlock(ind_context *c);

/* ======================================================================================== src/headers/inductor_ir.h */
#ifdef __cplusplus
}
#endif
#endif /* INDUCTOR_IR_H */

/* =============================================================================================================== */
#ifdef INDUCTOR_IR_IMPLEMENTATION
#ifndef INDUCTOR_IR_IMPLEMENTATION_DONE
#define INDUCTOR_IR_IMPLEMENTATION_DONE

#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>
#else
#include <pthread.h>
#endif

#ifdef __cplusplus
#error "the implementation is C11: define the implementation macro in a .c file"
#endif

/* ============================================================================================ src/ir/base/threads.c */
/* ----------------------------------------------------------------------------------------------- >>threads */

#if defined(_WIN32)

typedef SRWLOCK ir__mutex;

static bool ir__mutex_init(ir__mutex *m) {
    InitializeSRWLock(m);
    return true;
}

static void ir__mutex_destroy(ir__mutex *m) {
    (void)m;
}

static void ir__mutex_lock(ir__mutex *m) {
    AcquireSRWLockExclusive(m);
}

static void ir__mutex_unlock(ir__mutex *m) {
    ReleaseSRWLockExclusive(m);
}

#else

typedef pthread_mutex_t ir__mutex;

static bool ir__mutex_init(ir__mutex *m) {
    return !pthread_mutex_init(m, NULL);
}

static void ir__mutex_destroy(ir__mutex *m) {
    pthread_mutex_destroy(m);
}

static void ir__mutex_lock(ir__mutex *m) {
    pthread_mutex_lock(m);
}

static void ir__mutex_unlock(ir__mutex *m) {
    pthread_mutex_unlock(m);
}

#endif

#if defined(_MSC_VER)
#define IND__THREAD_LOCAL __declspec(thread)
#else
#define IND__THREAD_LOCAL _Thread_local
#endif

/* Its address identifies the thread. A new thread may get the address of one that has ended. */
static IND__THREAD_LOCAL char ir__thread_mark;

/* A recursive mutex. Only the owner can find its own mark in `owner`, so a relaxed read is enough. */
typedef struct ir__lock {
    ir__mutex mutex;
    _Atomic(const char *) owner;
    uint32_t depth;
} ir__lock;

static void ir__lock_acquire(ir__lock *l) {
    if (atomic_load_explicit(&l->owner, memory_order_relaxed) != &ir__thread_mark) {
        ir__mutex_lock(&l->mutex);
        atomic_store_explicit(&l->owner, &ir__thread_mark, memory_order_relaxed);
    }
    l->depth++;
}

static void ir__lock_release(ir__lock *l) {
    if (--l->depth) return;
    atomic_store_explicit(&l->owner, NULL, memory_order_relaxed);
    ir__mutex_unlock(&l->mutex);
}

static ir__lock *ir__lock_create(ind_context *c) {
    ir__lock *l = (ir__lock *)ind__alloc(c, sizeof *l);
    if (!l) return NULL;
    if (ir__mutex_init(&l->mutex)) return l;
    ind__free(c, l);
    ind__fail(c, IND_ERROR_OUT_OF_MEMORY, "the system has no resources for a mutex");
    return NULL;
}

static void ir__lock_destroy(ind_context *c, ir__lock *l) {
    if (l) ir__mutex_destroy(&l->mutex);
    ind__free(c, l);
}

void ind__lock(ind_context *c) {
    ir__lock_acquire(c->lock);
}

void ind__unlock(ind_context *c) {
    ir__lock_release(c->lock);
}

void ind__lists_lock(ind_context *c) {
    ir__lock_acquire(c->root->lists);
}

void ind__lists_unlock(ind_context *c) {
    ir__lock_release(c->root->lists);
}

/* Error states of threads, in blocks that are freed with the context. A thread claims a free state at its first
   failure. If no block can be added, threads share `spare`, and one may then see another's failure. */
#define IND__STATES 4

typedef struct ir__states {
    _Atomic(struct ir__states *) next;
    _Atomic(const char *) owner[IND__STATES];
    ind__state state[IND__STATES];
    ind__state spare; /* used in the first block only */
} ir__states;

static ir__states *ir__states_create(const ind_context *c) {
    ir__states *s = (ir__states *)c->desc.allocator.alloc(sizeof *s, c->desc.allocator.user);
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    atomic_init(&s->next, NULL);
    for (int i = 0; i < IND__STATES; i++) atomic_init(&s->owner[i], NULL);
    return s;
}

static void ir__states_destroy(const ind_context *c, ir__states *s) {
    while (s) {
        ir__states *next = atomic_load(&s->next);
        c->desc.allocator.free(s, c->desc.allocator.user);
        s = next;
    }
}

static ind__state *ir__states_find(ir__states *s, const char *thread) {
    for (; s; s = atomic_load_explicit(&s->next, memory_order_acquire))
        for (int i = 0; i < IND__STATES; i++)
            if (atomic_load_explicit(&s->owner[i], memory_order_relaxed) == thread) return &s->state[i];
    return NULL;
}

/* Claims a free state; adds a block if there is none. */
static ind__state *ir__states_claim(const ind_context *c, const char *thread) {
    ir__states *s = c->states, *next;
    for (;; s = next) {
        for (int i = 0; i < IND__STATES; i++) {
            const char *none = NULL;
            if (atomic_compare_exchange_strong(&s->owner[i], &none, thread)) return &s->state[i];
        }
        next = atomic_load_explicit(&s->next, memory_order_acquire);
        if (next) continue;
        ir__states *more = ir__states_create(c);
        if (!more) return &c->states->spare;
        if (atomic_compare_exchange_strong(&s->next, &next, more))
            next = more;
        else
            c->desc.allocator.free(more, c->desc.allocator.user);
    }
}

ind__state *ind__state_of(const ind_context *c) {
    ind__state *s = ir__states_find(c->root->states, &ir__thread_mark);
    return s ? s : ir__states_claim(c->root, &ir__thread_mark);
}

uint32_t ind__refusals(const ind_context *c) {
    return ind__state_of(c)->refusals;
}

/* ============================================================================================= src/ir/base/memory.c */
/* ------------------------------------------------------------------------------------------------ >>memory */

const char *ind_status_text(ind_status status) {
    static const char *const text[] = {
#define X(status, text) text,
        IND_STATUSES(X)
#undef X
    };
    return (size_t)status < sizeof text / sizeof *text ? text[status] : "unknown status";
}

/* Returns zeroed memory. calloc need not touch pages that come fresh from the system. */
static void *ir__default_alloc(size_t bytes, void *user) {
    (void)user;
    return calloc(1, bytes);
}

static void ir__default_free(void *memory, void *user) {
    (void)user;
    free(memory);
}

void *ind__alloc(ind_context *c, size_t bytes) {
    void *p = bytes > PTRDIFF_MAX ? NULL : c->desc.allocator.alloc(bytes ? bytes : 1, c->desc.allocator.user);
    if (!p) {
        ind__fail(c, IND_ERROR_OUT_OF_MEMORY, "out of memory: the allocator refused %zu bytes", bytes);
        return NULL;
    }
    return c->desc.allocator.alloc == ir__default_alloc ? p : memset(p, 0, bytes);
}

void ind__free(ind_context *c, void *p) {
    if (p) c->desc.allocator.free(p, c->desc.allocator.user);
}

void *ind__resize(ind_context *c, void *p, size_t old_bytes, size_t new_bytes) {
    void *q = ind__alloc(c, new_bytes);
    if (!q) return NULL;
    if (p) memcpy(q, p, old_bytes < new_bytes ? old_bytes : new_bytes);
    ind__free(c, p);
    return q;
}

bool ind__size_mul(size_t a, size_t b, size_t *out) {
    if (b && a > SIZE_MAX / b) return false;
    *out = a * b;
    return true;
}

void *ind__grow(ind_context *c, void **items, uint32_t *num, uint32_t *capacity, size_t item_bytes, uint32_t more) {
    if (more > UINT32_MAX / 2 - *num) {
        ind__fail(c, IND_ERROR_LIMIT, "more than %u elements in one table", UINT32_MAX / 2);
        return NULL;
    }
    if (*num + more > *capacity) {
        uint32_t want = *capacity ? *capacity * 2 : 8;
        while (want < *num + more) want *= 2;
        size_t bytes;
        if (!ind__size_mul(want, item_bytes, &bytes)) return NULL;
        void *grown = ind__resize(c, *items, *num * item_bytes, bytes);
        if (!grown) return NULL;
        *items = grown;
        *capacity = want;
    }
    void *at = (char *)*items + *num * item_bytes;
    memset(at, 0, more * item_bytes);
    *num += more;
    return at;
}

struct ind__arena_block {
    struct ind__arena_block *next;
    size_t bytes;
};
#define IND__ARENA_HEADER ((sizeof(struct ind__arena_block) + 15) & ~(size_t)15)

void *ind__arena_alloc(ind__arena *a, size_t bytes) {
    if (bytes > PTRDIFF_MAX / 2) {
        ind__fail(a->context, IND_ERROR_OUT_OF_MEMORY, "out of memory: %zu bytes asked for", bytes);
        return NULL;
    }
    bytes = (bytes + 15) & ~(size_t)15;
    if (!a->head || a->capacity - a->used < bytes) {
        size_t block = a->head && a->capacity < (1u << 20) ? a->capacity * 2 : 1u << 12;
        if (a->head && a->capacity >= (1u << 20)) block = 1u << 20;
        if (block < bytes) block = bytes;
        struct ind__arena_block *b = (struct ind__arena_block *)ind__alloc(a->context, IND__ARENA_HEADER + block);
        if (!b) return NULL;
        b->next = a->head;
        a->head = b;
        a->used = 0;
        a->capacity = block;
    }
    void *p = (char *)a->head + IND__ARENA_HEADER + a->used;
    a->used += bytes;
    return p; /* fresh blocks are zeroed, and no byte is handed out twice */
}

void *ind__arena_copy(ind__arena *a, const void *data, size_t bytes) {
    void *p = ind__arena_alloc(a, bytes);
    if (p && bytes) memcpy(p, data, bytes);
    return p;
}

char *ind__arena_string(ind__arena *a, const char *text, size_t length) {
    char *p = (char *)ind__arena_alloc(a, length + 1);
    if (p && length) memcpy(p, text, length);
    return p;
}

void ind__arena_free(ind__arena *a) {
    while (a->head) {
        struct ind__arena_block *next = a->head->next;
        ind__free(a->context, a->head);
        a->head = next;
    }
    a->used = a->capacity = 0;
}

ind_status ind__fail(ind_context *c, ind_status status, const char *format, ...) {
    ind__state *s = ind__state_of(c);
    s->overflows += status == IND_ERROR_OVERFLOW;
    if (s->quiet && (status == IND_ERROR_OVERFLOW || status == IND_ERROR_INVALID_ARGUMENT || status == IND_ERROR_LIMIT))
        return status;
    char text[sizeof s->text]; /* a copy: the old text may be an argument of the new one */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    s->failures++;
    s->refusals += status == IND_ERROR_OUT_OF_MEMORY;
    s->status = status;
    memcpy(s->text, text, strlen(text) + 1);
    ind__log(c, 3, IND_LOG_ERROR, "%s", text);
    return status;
}

ind_status ind__failed(ind_context *c) {
    const ind__state *s = ind__state_of(c);
    return s->status ? s->status : ind__fail(c, IND_ERROR_VERIFY, "a step failed without a reason");
}

ind_status ind__refused_since(const ind_context *c, uint32_t before) {
    return ind__refusals(c) == before ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

void ind__log(ind_context *c, int level, ind_log_category category, const char *format, ...) {
    static const char *const names[] = {
#define X(name, text) text ": ",
        IND_LOG_CATEGORIES(X)
#undef X
    };
    const uint32_t wanted = c->desc.log_categories;
    if (!c->desc.log.log || level > c->desc.log_level || (wanted && !(wanted >> category & 1))) return;
    char text[1024];
    const int head = snprintf(text, sizeof text, "%s", names[category]);
    va_list args;
    va_start(args, format);
    vsnprintf(text + head, sizeof text - (size_t)head, format, args);
    va_end(args);
    c->desc.log.log(level, text, c->desc.log.user);
}

bool ind__verifying(ind_context *c) {
#ifdef NDEBUG
    return c->desc.verify > 0;
#else
    return c->desc.verify >= 0;
#endif
}

void ind__own(ind_context *c, ind__owned *o, void (*destroy)(ind__owned *)) {
    ind__lists_lock(c);
    o->prev = NULL;
    o->next = c->owned;
    o->destroy = destroy;
    if (c->owned) c->owned->prev = o;
    c->owned = o;
    ind__lists_unlock(c);
}

void ind__disown(ind_context *c, ind__owned *o) {
    ind__lists_lock(c);
    if (o->prev) o->prev->next = o->next;
    if (o->next) o->next->prev = o->prev;
    if (c->owned == o) c->owned = o->next;
    o->prev = o->next = NULL;
    ind__lists_unlock(c);
}

static void ir__env_string(const char **field, const char *name) {
    const char *v = *field ? NULL : getenv(name);
    if (v && *v) *field = v;
}

static void ir__env_int(int *field, const char *name) {
    const char *v = *field ? NULL : getenv(name);
    if (v && *v) *field = (int)strtol(v, NULL, 10);
}

/* The only function that reads the environment. Returns an IND_DEVICE that names no device; NULL: there is none. */
static const char *ir__context_defaults(ind_context_desc *d) {
    if (!d->allocator.alloc) {
        d->allocator.alloc = ir__default_alloc;
        d->allocator.free = ir__default_free;
    }
    const char *device = d->device ? NULL : getenv("IND_DEVICE");
    if (device && !strcmp(device, "host")) d->device = IND_DEVICE_HOST;
    if (device && !strcmp(device, "cuda")) d->device = IND_DEVICE_CUDA;
    ir__env_string(&d->cuda.library_path, "IND_CUDA_LIBRARY");
    ir__env_string(&d->cuda.nvrtc_path, "IND_NVRTC_LIBRARY");
    ir__env_string(&d->cuda.cublaslt_path, "IND_CUBLASLT_LIBRARY");
    ir__env_string(&d->cuda.source_folder, "IND_CUDA_SOURCES");
    ir__env_string(&d->pack.path, "IND_PACK");
    ir__env_int(&d->log_level, "IND_LOG");
    ir__env_int(&d->verify, "IND_VERIFY");
    ir__env_int(&d->num_threads, "IND_THREADS");
    return device && *device && !d->device && strcmp(device, "auto") != 0 ? device : NULL;
}

static bool ir__keep_string(ind_context *c, const char **s) {
    if (!*s) return true;
    *s = ind__arena_string(&c->names, *s, strlen(*s));
    return *s != NULL;
}

static bool ir__interner_create(ind_context *c);
static void ir__interner_destroy(ind_context *c);
static void ir__record_memory_free(ind_context *c, struct ir__record_memory *m);

/* Creates the members that every context has, including a module's. */
static bool ir__context_begin(ind_context *c) {
    c->lock = ir__lock_create(c);
    return c->lock && ir__interner_create(c);
}

ind_status ind_context_create(const ind_context_desc *desc, ind_context **context) {
    if (!context) return IND_ERROR_INVALID_ARGUMENT;
    *context = NULL;
    ind_context_desc d = {0};
    if (desc) d = *desc;
    if (!d.allocator.alloc != !d.allocator.free || !d.trace.begin != !d.trace.end) return IND_ERROR_INVALID_ARGUMENT;
    const char *unknown = ir__context_defaults(&d);
    ind_context *c = (ind_context *)d.allocator.alloc(sizeof *c, d.allocator.user);
    if (!c) return IND_ERROR_OUT_OF_MEMORY;
    memset(c, 0, sizeof *c);
    c->desc = d;
    c->root = c->names.context = c;
    c->states = ir__states_create(c);
    bool ok = c->states && (c->lists = ir__lock_create(c)) != NULL && ir__context_begin(c);
    ok = ok && ir__keep_string(c, &c->desc.cuda.library_path) && ir__keep_string(c, &c->desc.cuda.nvrtc_path) &&
         ir__keep_string(c, &c->desc.cuda.cublaslt_path) && ir__keep_string(c, &c->desc.cuda.source_folder) &&
         ir__keep_string(c, &c->desc.pack.path);
    if (!ok) {
        ind_context_destroy(c);
        return IND_ERROR_OUT_OF_MEMORY;
    }
    if (unknown) ind__log(c, 1, IND_LOG_DEVICE, "IND_DEVICE=%s is none of host, cuda, auto: it is ignored", unknown);
    *context = c;
    return IND_OK;
}

static void ir__destroy_owned(ind_context *c) {
    while (c->owned) {
        ind__owned *o = c->owned;
        ind__disown(c, o);
        o->destroy(o);
    }
}

void ind_context_destroy(ind_context *c) {
    if (!c) return;
    ir__destroy_owned(c);
    if (c->runtime_destroy) c->runtime_destroy(c);
    ir__record_memory_free(c, c->record_memory);
    ir__interner_destroy(c);
    ind__arena_free(&c->names);
    ir__lock_destroy(c, c->lock);
    ir__lock_destroy(c, c->lists);
    ir__states_destroy(c, c->states);
    c->desc.allocator.free(c, c->desc.allocator.user);
}

ind_context *ind__context_fork(ind_context *c) {
    ind_context *root = c->root, *fork = (ind_context *)ind__alloc(root, sizeof *fork);
    if (!fork) return NULL;
    fork->desc = root->desc;
    fork->root = root;
    if (ir__context_begin(fork)) return fork;
    ind__context_leave(fork);
    return NULL;
}

void ind__context_leave(ind_context *c) {
    if (!c) return;
    ind_context *root = c->root;
    ir__destroy_owned(c);
    ir__record_memory_free(c, c->record_memory);
    ir__interner_destroy(c);
    ir__lock_destroy(c, c->lock);
    ind__free(root, c);
}

const char *ind_error(const ind_context *c) {
    return c ? ind__state_of(c)->text : "no context: ind_context_create failed or was not called";
}

ind_status ind_error_status(const ind_context *c) {
    return c ? ind__state_of(c)->status : IND_ERROR_INVALID_ARGUMENT;
}

const ind_context_desc *ind_context_query_desc(const ind_context *c) {
    return c ? &c->desc : NULL;
}

/* ------------------------------------------------------------------------------------------------- types */

static const struct ir__dtype_row {
    const char *name;
    int bytes;
    char cls;
} ir__dtype_table[IND_NUM_DTYPES] = {{"none", 0, 0},
#define X(name, text, bytes, cls, ctype) {text, bytes, cls},
                                     IND_DTYPES(X)
#undef X
};

static const struct ir__dtype_row *ir__dtype_row(ind_dtype d) {
    return &ir__dtype_table[(unsigned)d < IND_NUM_DTYPES ? d : 0];
}

const char *ind_dtype_name(ind_dtype d) {
    return ir__dtype_row(d)->name;
}

int ind_dtype_bytes(ind_dtype d) {
    return ir__dtype_row(d)->bytes;
}

bool ind_dtype_is_float(ind_dtype d) {
    return ir__dtype_row(d)->cls == 'f';
}

bool ind_dtype_is_integer(ind_dtype d) {
    return ir__dtype_row(d)->cls == 'i' || ir__dtype_row(d)->cls == 'u';
}

ind_dtype ind_dtype_compute(ind_dtype d) {
    return ind_dtype_is_float(d) && ind_dtype_bytes(d) < 4 ? IND_F32 : d;
}

/* torch.promote_types: a float beats an integer, an integer beats bool. Of two types of one class the wider wins. u8
   with i8 gives i16; f16 with bf16 gives f32. */
ind_dtype ind_dtype_promote(ind_dtype a, ind_dtype b) {
    if (a == b || !b) return a;
    if (!a || a == IND_BOOL) return b;
    if (b == IND_BOOL) return a;
    bool fa = ind_dtype_is_float(a), fb = ind_dtype_is_float(b);
    if ((fa && ind_dtype_bytes(a) == 1) || (fb && ind_dtype_bytes(b) == 1)) return IND_DTYPE_NONE;
    if (fa != fb) return fa ? a : b;
    if (fa) return (a == IND_F16 && b == IND_BF16) || (a == IND_BF16 && b == IND_F16) ? IND_F32 : a > b ? a : b;
    if ((a == IND_U8 && b == IND_I8) || (a == IND_I8 && b == IND_U8)) return IND_I16;
    return a > b ? a : b;
}

ind_dtype ind_dtype_parse(const char *name, size_t length) {
    for (int d = 1; name && d < IND_NUM_DTYPES; d++)
        if (strlen(ir__dtype_table[d].name) == length && !memcmp(ir__dtype_table[d].name, name, length))
            return (ind_dtype)d;
    return IND_DTYPE_NONE;
}

/* ============================================================================================ src/ir/base/strings.c */
/* ------------------------------------------------------------------------------------------------ >>string */

void ind__text_raw(ind__text *t, const char *s, size_t n) {
    if (t->failed || !n) return;
    if (n >= SIZE_MAX / 2 - t->size) {
        t->failed = true;
        return;
    }
    if (t->size + n + 1 > t->capacity) {
        size_t want = t->capacity ? t->capacity : 256;
        while (want < t->size + n + 1) want *= 2;
        char *grown = (char *)ind__resize(t->context, t->data, t->size, want);
        if (!grown) {
            t->failed = true;
            return;
        }
        t->data = grown;
        t->capacity = want;
    }
    memcpy(t->data + t->size, s, n);
    t->size += n;
    t->data[t->size] = 0;
}

/* Appends formatted text line by line, and indents each line that starts here. */
static void ir__text_lines(ind__text *t, const char *s, size_t n) {
    while (n && !t->failed) {
        const char *end = (const char *)memchr(s, '\n', n);
        size_t line = end ? (size_t)(end - s) + 1 : n;
        if (!t->mid_line && *s != '\n')
            for (int i = 0; i < t->indent; i++) ind__text_raw(t, "    ", 4);
        ind__text_raw(t, s, line);
        t->mid_line = !end;
        s += line;
        n -= line;
    }
}

/* Text that is being formatted: `size` counts what does not fit, too. */
typedef struct ir__formatted {
    char *out;
    size_t size, capacity;
} ir__formatted;

static void ir__format_put(ir__formatted *f, const char *s, size_t n) {
    if (f->size < f->capacity) memcpy(f->out + f->size, s, n < f->capacity - f->size ? n : f->capacity - f->size);
    f->size += n;
}

static void ir__format_number(ir__formatted *f, uint64_t v, bool negative) {
    char s[24], *at = s + sizeof s;
    do *--at = (char)('0' + v % 10);
    while (v /= 10);
    if (negative) *--at = '-';
    ir__format_put(f, at, (size_t)(s + sizeof s - at));
}

static void ir__format_signed(ir__formatted *f, int64_t v) {
    ir__format_number(f, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0);
}

static void ir__format_string(ir__formatted *f, const char *s, size_t most) {
    if (!s) s = "(null)";
    const char *end = most < SIZE_MAX ? (const char *)memchr(s, 0, most) : s + strlen(s);
    ir__format_put(f, s, end ? (size_t)(end - s) : most);
}

/* Writes the directive at `at`, after its %. Returns its length; 0: vsnprintf must write it. */
static size_t ir__format_directive(ir__formatted *f, const char *at, va_list *args) {
    if (*at == 's') {
        ir__format_string(f, va_arg(*args, const char *), SIZE_MAX);
    } else if (*at == 'd') {
        ir__format_signed(f, va_arg(*args, int));
    } else if (*at == 'u') {
        ir__format_number(f, va_arg(*args, unsigned), false);
    } else if (*at == 'c') {
        const char c = (char)va_arg(*args, int);
        ir__format_put(f, &c, 1);
    } else if (*at == '%') {
        ir__format_put(f, at, 1);
    } else if (!strncmp(at, "lld", 3)) {
        ir__format_signed(f, va_arg(*args, long long));
        return 3;
    } else if (!strncmp(at, ".*s", 3)) {
        const int most = va_arg(*args, int);
        ir__format_string(f, va_arg(*args, const char *), most < 0 ? SIZE_MAX : (size_t)most);
        return 3;
    } else {
        return 0;
    }
    return 1;
}

/* Texts are made of few directives, and making them is much of the work of the code generator. */
int ind__format_list(char *out, size_t capacity, const char *format, va_list list) {
    ir__formatted f = {out, 0, capacity ? capacity - 1 : 0};
    va_list args;
    va_copy(args, list);
    bool plain = true;
    for (const char *at = format; *at && plain;) {
        size_t n = 0;
        while (at[n] && at[n] != '%') n++;
        ir__format_put(&f, at, n);
        at += n;
        if (!*at) break;
        const size_t length = ir__format_directive(&f, at + 1, &args);
        plain = length != 0;
        at += 1 + length;
    }
    va_end(args);
    if (!plain || f.size > INT_MAX) return vsnprintf(out, capacity, format, list);
    if (capacity) out[f.size < f.capacity ? f.size : f.capacity] = 0;
    return (int)f.size;
}

int ind__format(char *out, size_t capacity, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int n = ind__format_list(out, capacity, format, args);
    va_end(args);
    return n;
}

void ind__textf(ind__text *t, const char *format, ...) {
    if (t->failed) return;
    char local[512];
    va_list args;
    va_start(args, format);
    int n = ind__format_list(local, sizeof local, format, args);
    va_end(args);
    if (n < 0) {
        t->failed = true;
        return;
    }
    if ((size_t)n < sizeof local) {
        ir__text_lines(t, local, (size_t)n);
        return;
    }
    char *large = (char *)ind__alloc(t->context, (size_t)n + 1);
    if (!large) {
        t->failed = true;
        return;
    }
    va_start(args, format);
    ind__format_list(large, (size_t)n + 1, format, args);
    va_end(args);
    ir__text_lines(t, large, (size_t)n);
    ind__free(t->context, large);
}

/* The decimal point of the C library depends on the locale; the printed one is always '.'. */
static char ir__locale_point(void) {
    const struct lconv *l = localeconv();
    return l && l->decimal_point && l->decimal_point[0] ? l->decimal_point[0] : '.';
}

/* The fewest digits that read back exactly. Up to 15 digits survive a double that is not subnormal, so that the fewest
   are those of the 15, without the zeros at the end, if 15 are enough. */
static void ir__shortest_double(char *s, size_t size, double v) {
    int digits = 1;
    snprintf(s, size, "%.14e", v);
    if (fabs(v) >= DBL_MIN && strtod(s, NULL) == v) {
        const char *end = strchr(s, 'e');
        for (digits = 15; digits > 1 && end[-1] == '0'; end--) digits--;
    } else if (fabs(v) >= DBL_MIN) {
        digits = 16;
    }
    for (; digits <= 17; digits++) {
        snprintf(s, size, "%.*g", digits, v);
        if (strtod(s, NULL) == v) break;
    }
}

void ind__text_double(ind__text *t, double v) {
    if (v != v || isinf(v)) {
        ind__textf(t, "%s", v != v ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    char s[40];
    ir__shortest_double(s, sizeof s, v);
    char *point = strchr(s, ir__locale_point());
    if (point) *point = '.';
    bool plain = !strpbrk(s, ".e");
    ind__textf(t, "%s%s", s, plain ? ".0" : "");
}

bool ind__parse_double(const char *s, size_t n, double *out) {
    char copy[64];
    if (!n || n >= sizeof copy) return false;
    memcpy(copy, s, n);
    copy[n] = 0;
    char *point = strchr(copy, '.');
    if (point) *point = ir__locale_point();
    char *end;
    *out = strtod(copy, &end);
    return end == copy + n;
}

void ind__text_json(ind__text *t, const char *s) {
    ind__textf(t, "\"");
    for (; *s; s++) {
        unsigned char ch = (unsigned char)*s;
        if (ch == '"' || ch == '\\')
            ind__textf(t, "\\%c", ch);
        else if (ch < 0x20)
            ind__textf(t, "\\u%04x", ch);
        else
            ind__textf(t, "%c", ch);
    }
    ind__textf(t, "\"");
}

void ind__text_free(ind__text *t) {
    ind__free(t->context, t->data);
    t->data = NULL;
    t->size = t->capacity = 0;
}

ind_status ind__text_status(const ind__text *t) {
    return t->failed ? ind__failed(t->context) : IND_OK;
}

/* 64-bit FNV-1a over words with a final mix (splitmix64): good enough for internal tables and content keys. */
uint64_t ind__hash(const void *data, size_t n, uint64_t seed) {
    const unsigned char *p = (const unsigned char *)data;
    uint64_t h = 1469598103934665603ull ^ seed;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        h = (h ^ w) * 1099511628211ull;
        h ^= h >> 29;
    }
    for (; n; n--, p++) h = (h ^ *p) * 1099511628211ull;
    h ^= h >> 30;
    h *= 0xbf58476d1ce4e5b9ull;
    h ^= h >> 27;
    h *= 0x94d049bb133111ebull;
    return h ^ (h >> 31);
}

/* ============================================================================================= src/ir/expr/intern.c */
/* ------------------------------------------------------------------------------------------------ >>intern */

/* An interned symbol. `key` orders symbols by name: length, then the first characters. `number` is its sequence
   number. */
typedef struct ir__symbol {
    ind_symbol symbol; /* must be first */
    uint64_t key;
    uint32_t number;
} ir__symbol;

/* A node takes 32 bytes, and 4 bytes per argument if there are more than two; the hash table adds 7 to 10. Nodes and
   symbols never move or change, so one thread may read existing expressions while another creates new ones. */
typedef struct ir__expr_node {
    int64_t lo, hi; /* bounds; INT: the value */
    union {
        uint32_t few[2];
        const uint32_t *many;     /* num_args > 2 */
        const ir__symbol *symbol; /* SYM */
    } arg;
    uint32_t symbols; /* Bloom mask of the symbols in it, including those in the extents of loop indices */
    uint32_t num_args : 19, kind : 5, depth : 8;
} ir__expr_node;
_Static_assert(sizeof(ir__expr_node) == 32, "the memory of a node is part of what this header promises");

#define IND__NODE_BITS   10 /* log2 of the nodes per segment; the next: of segments per group and of groups */
#define IND__GROUP_BITS  11
#define IND__MAX_DEPTH   160 /* nesting of expressions; bounds recursion */
#define IND__MAX_TERMS   65536
#define IND__MAX_FACTORS 60
#define IND__MAX_RULES   64    /* nested applications of rules; beyond, a division stays unsimplified */
#define IND__MAX_EXPAND  64    /* terms that a product of sums may be expanded to */
#define IND__MAX_CACHE   32768 /* cached results */
#define IND__MIN_CACHE   16384 /* with fewer, every level of a nested expression recomputes the same results */
#define IND__WORD_BLOCK  4096  /* size in words of a block of argument lists */

/* Cached besides results of operations: whether a <= b, whether a < b, the hint of a, the loop index of an extent, the
   result of substitution number b in a; the coefficient and the remainder of a as affine in b (0: not affine). */
enum {
    IND__CACHED_BELOW = IND_EXPR_WHERE + 1,
    IND__CACHED_HINT = IND__CACHED_BELOW + 2,
    IND__CACHED_INDEX,
    IND__CACHED_SUBSTITUTE,
    IND__CACHED_COEFFICIENT,
    IND__CACHED_REST,
    IND__NUM_CACHED
};
_Static_assert(IND__NUM_CACHED < 32, "the key of a cached result has five bits for it");

/* A recent substitution. The layers of a network repeat the same ones. */
#define IND__SUBSTITUTIONS 64
#define IND__MAX_REPLACED  16
typedef struct ir__substitution_made {
    uint32_t number; /* 0: free */
    uint32_t num, pair[2 * IND__MAX_REPLACED];
} ir__substitution_made;

typedef struct ir__op_cache_entry {
    uint32_t key; /* operation and fact set (ir__cache_key) */
    uint32_t a, b, result;
} ir__op_cache_entry;

/* The value of a node at one of the sample points that are tried before a proof (>>assume). */
typedef struct ir__sample {
    uint32_t id; /* 0: empty */
    uint16_t point;
    bool valid;
    int64_t value;
} ir__sample;
#define IND__SAMPLES  2048
#define X(name, text) +1
enum { IND__NUM_SYMBOL_KINDS = 0 IND_SYMBOL_KINDS(X) };
#undef X
#define IND__MAX_COMBINING 3

/* Integers found without a hash lookup: coefficients, divisors, strides. */
#define IND__LEAST_SMALL (-64)
#define IND__NUM_SMALL   320

struct ind__interner {
    ind_context *context;
    ir__expr_node **group[1 << IND__GROUP_BITS]; /* each has 1 << IND__GROUP_BITS segments */
    uint32_t num_nodes;                          /* ids 1..num_nodes-1 */
    /* Hash table of the nodes: open addressing, linear probing, 58 to 88 % full. A lookup reads the tags first: 16 bits
       of the hash, 0 if the slot is empty. So a node whose tag matches is nearly always the one searched for. */
    uint32_t *slot;
    uint16_t *tag;
    uint32_t table_size;
    uint32_t small_int[IND__NUM_SMALL]; /* ids of small integers; 0: not yet interned */
    ind__arena arena;                   /* symbols, blocks of words */
    uint32_t *word;
    uint32_t words_left;
    struct ir__term_block *free_terms;
    uint32_t num_symbols;
    ir__op_cache_entry *cache; /* cached results of simplifying constructors; as many as buckets, up to a limit */
    uint32_t cache_size;
    ir__sample sample[IND__SAMPLES];
    ir__substitution_made substitution[IND__SUBSTITUTIONS];
    uint32_t num_substitutions;                   /* the last number given to one */
    uint32_t kind_symbols[IND__NUM_SYMBOL_KINDS]; /* Bloom masks of all symbols, by ind_symbol_kind */
    uint32_t combining;                           /* nesting of ir__sum_combine */
    uint32_t fired[IND__NUM_EXPR_RULES];          /* how often each rule applied */
    ind_facts *facts;                             /* in force; NULL: none */
    int proving;                                  /* > 0: a proof is in progress */
    int dividing;                                 /* nesting of divisions that rules on divisions built */
    uint32_t num_generations;                     /* the last generation given to a state of a fact set; even */
};

static ir__expr_node *ir__node_at(const struct ind__interner *in, uint32_t id) {
    const uint32_t group = id >> (IND__NODE_BITS + IND__GROUP_BITS);
    const uint32_t segment = id >> IND__NODE_BITS & ((1u << IND__GROUP_BITS) - 1);
    return &in->group[group][segment][id & ((1u << IND__NODE_BITS) - 1)];
}

static const ir__expr_node *ir__node_of(ind_expr e) {
    return ir__node_at(e.context->interner, e.id);
}

static const uint32_t *ir__node_args(const ir__expr_node *n) {
    return n->num_args > 2 ? n->arg.many : n->arg.few;
}

static bool ir__interner_create(ind_context *c) {
    struct ind__interner *in = (struct ind__interner *)ind__alloc(c, sizeof *in);
    if (!in) return false;
    c->interner = in;
    in->context = in->arena.context = c;
    in->table_size = 4096;
    in->slot = (uint32_t *)ind__alloc(c, in->table_size * sizeof *in->slot);
    in->tag = (uint16_t *)ind__alloc(c, in->table_size * sizeof *in->tag);
    in->cache_size = IND__MIN_CACHE;
    in->cache = (ir__op_cache_entry *)ind__alloc(c, in->cache_size * sizeof *in->cache);
    in->num_nodes = 1;
    return in->slot && in->tag && in->cache;
}

static void ir__interner_destroy(ind_context *c) {
    struct ind__interner *in = c->interner;
    if (!in) return;
    for (uint32_t g = 0; g < 1u << IND__GROUP_BITS && in->group[g]; g++) {
        for (uint32_t i = 0; i < 1u << IND__GROUP_BITS; i++) ind__free(c, in->group[g][i]);
        ind__free(c, in->group[g]);
    }
    ind__free(c, in->slot);
    ind__free(c, in->tag);
    ind__free(c, in->cache);
    ind__arena_free(&in->arena);
    ind__free(c, in);
}

uint32_t ind__num_exprs(const ind_context *c) {
    return c->interner->num_nodes - 1;
}

static uint16_t ir__hash_tag(uint32_t hash) {
    return (uint16_t)(hash & 0xffffu ? hash : 1u);
}

static void ir__table_put(struct ind__interner *in, uint32_t id, uint32_t hash) {
    uint32_t at = (uint32_t)((uint64_t)hash * in->table_size >> 32);
    while (in->tag[at]) at = at + 1 == in->table_size ? 0 : at + 1;
    in->tag[at] = ir__hash_tag(hash);
    in->slot[at] = id;
}

/* The next node from slot *at on whose tag is that of the hash; 0 if there is none. To continue, advance *at by one. */
static uint32_t ir__table_next(const struct ind__interner *in, uint32_t hash, uint32_t *at) {
    const uint16_t tag = ir__hash_tag(hash);
    for (; *at < in->table_size || (*at = 0, true); ++*at) {
        if (in->tag[*at] == tag) return in->slot[*at];
        if (!in->tag[*at]) return 0;
    }
    return 0;
}

static uint32_t ir__hash_args(ind_expr_kind kind, const uint32_t *arg, uint32_t n, int64_t value) {
    uint64_t h = ((uint64_t)value ^ kind) * 0x9e3779b97f4a7c15ull;
    for (uint32_t i = 0; i < n; i++) h = ((h ^ arg[i]) * 0xff51afd7ed558ccdull) ^ (h >> 29);
    h = (h ^ h >> 32) * 0xc4ceb9fe1a85ec53ull;
    return (uint32_t)(h >> 32);
}

static uint32_t ir__hash_symbol(const ind_symbol *s) {
    int64_t key[7] = {s->kind, s->slot, s->lo, s->hi, s->multiple_of, s->hint, s->extent.id};
    return (uint32_t)ind__hash(s->name, strlen(s->name), ind__hash(key, sizeof key, 7));
}

static uint32_t ir__hash_node(const struct ind__interner *in, uint32_t id) {
    const ir__expr_node *n = ir__node_at(in, id);
    if (n->kind == IND_EXPR_SYM) return ir__hash_symbol(&n->arg.symbol->symbol);
    return ir__hash_args((ind_expr_kind)n->kind, ir__node_args(n), n->num_args, n->kind == IND_EXPR_INT ? n->lo : 0);
}

/* The cache grows with the nodes, up to its limit. */
static bool ir__cache_grow(struct ind__interner *in) {
    if (in->num_nodes < in->cache_size || in->cache_size >= IND__MAX_CACHE) return true;
    ir__op_cache_entry *cache =
        (ir__op_cache_entry *)ind__alloc(in->context, 2 * (size_t)in->cache_size * sizeof *cache);
    if (!cache) return false;
    ind__free(in->context, in->cache);
    in->cache = cache;
    in->cache_size *= 2;
    return true;
}

static bool ir__interner_rehash(struct ind__interner *in) {
    uint32_t want = in->table_size + (in->table_size < 1u << 17 ? in->table_size : in->table_size / 2);
    if (want < in->table_size) want = UINT32_MAX;
    uint32_t *slot = (uint32_t *)ind__alloc(in->context, (size_t)want * sizeof *slot);
    uint16_t *tag = slot ? (uint16_t *)ind__alloc(in->context, (size_t)want * sizeof *tag) : NULL;
    if (!tag) {
        ind__free(in->context, slot);
        return false;
    }
    ind__free(in->context, in->slot);
    ind__free(in->context, in->tag);
    in->slot = slot;
    in->tag = tag;
    in->table_size = want;
    for (uint32_t id = 1; id < in->num_nodes; id++) ir__table_put(in, id, ir__hash_node(in, id));
    return ir__cache_grow(in);
}

/* Allocates memory for node `id`, which starts a segment or follows an existing node. */
static bool ir__interner_reserve(struct ind__interner *in, uint32_t id) {
    ir__expr_node ***group = &in->group[id >> (IND__NODE_BITS + IND__GROUP_BITS)];
    if (!*group) *group = (ir__expr_node **)ind__alloc(in->context, sizeof **group << IND__GROUP_BITS);
    if (!*group) return false;
    ir__expr_node **segment = &(*group)[id >> IND__NODE_BITS & ((1u << IND__GROUP_BITS) - 1)];
    if (!*segment) *segment = (ir__expr_node *)ind__alloc(in->context, sizeof **segment << IND__NODE_BITS);
    return *segment != NULL;
}

/* A new zeroed node; 0 on failure. */
static uint32_t ir__interner_append(struct ind__interner *in) {
    uint32_t id = in->num_nodes;
    if (id == UINT32_MAX) {
        ind__fail(in->context, IND_ERROR_LIMIT, "too many different size expressions (%u)", id);
        return 0;
    }
    if (id / 7 >= in->table_size / 8 && !ir__interner_rehash(in)) return 0;
    if (!ir__interner_reserve(in, id)) return 0;
    in->num_nodes++;
    return id;
}

/* n words with the lifetime of the context. */
static uint32_t *ir__alloc_words(struct ind__interner *in, uint32_t n) {
    if (n > in->words_left) {
        uint32_t block = n > IND__WORD_BLOCK ? n : IND__WORD_BLOCK;
        in->word = (uint32_t *)ind__arena_alloc(&in->arena, (size_t)block * sizeof *in->word);
        in->words_left = in->word ? block : 0;
        if (!in->word) return NULL;
    }
    uint32_t *words = in->word;
    in->word += n;
    in->words_left -= n;
    return words;
}

static ind_expr ir__expr_make(ind_context *c, uint32_t id) {
    ind_expr e = {c, id};
    return e;
}

static ind_expr ir__expr_none(ind_context *c) {
    return ir__expr_make(c, 0);
}

/* Interval arithmetic. lo == INT64_MIN or hi == INT64_MAX means unbounded. No value exceeds 64 bits, so an end may
   saturate. */
typedef struct ir__range {
    int64_t lo, hi;
} ir__range;

static const ir__range ir__full_range = {INT64_MIN, INT64_MAX};

static int64_t ir__clamped_add(int64_t a, int64_t b) {
    int64_t r;
    return ind__add_overflow(a, b, &r) ? (a < 0 ? INT64_MIN : INT64_MAX) : r;
}

static int64_t ir__sat_add(int64_t a, int64_t b) {
    if (a == INT64_MIN || b == INT64_MIN) return INT64_MIN;
    if (a == INT64_MAX || b == INT64_MAX) return INT64_MAX;
    return ir__clamped_add(a, b);
}

static int64_t ir__sat_mul(int64_t a, int64_t b) {
    if (!a || !b) return 0;
    int64_t r;
    bool negative = (a < 0) != (b < 0);
    bool infinite = a == INT64_MIN || a == INT64_MAX || b == INT64_MIN || b == INT64_MAX;
    return infinite || ind__mul_overflow(a, b, &r) ? (negative ? INT64_MIN : INT64_MAX) : r;
}

static int64_t ir__floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* Python's a % b, without the overflow of a - b * (a // b). */
static int64_t ir__floor_mod(int64_t a, int64_t b) {
    int64_t r = b == -1 ? 0 : a % b;
    return r && (r < 0) != (b < 0) ? r + b : r;
}

static ir__range ir__range_hull(ir__range a, ir__range b) {
    ir__range r = {a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
    return r;
}

static ir__range ir__range_add(ir__range a, ir__range b) {
    ir__range r = {a.lo == INT64_MIN || b.lo == INT64_MIN ? INT64_MIN : ir__clamped_add(a.lo, b.lo),
                   a.hi == INT64_MAX || b.hi == INT64_MAX ? INT64_MAX : ir__clamped_add(a.hi, b.hi)};
    return r;
}

static ir__range ir__range_neg(ir__range a) {
    ir__range r = {a.hi == INT64_MAX   ? INT64_MIN
                   : a.hi == INT64_MIN ? INT64_MAX
                                       : -a.hi,
                   a.lo == INT64_MIN ? INT64_MAX : -a.lo};
    return r;
}

/* A product is bilinear, so its extremes are at the corners. */
static ir__range ir__range_mul(ir__range a, ir__range b) {
    int64_t v[4] = {ir__sat_mul(a.lo, b.lo), ir__sat_mul(a.lo, b.hi), ir__sat_mul(a.hi, b.lo), ir__sat_mul(a.hi, b.hi)};
    ir__range r = {v[0], v[0]};
    for (int i = 1; i < 4; i++) {
        ir__range corner = {v[i], v[i]};
        r = ir__range_hull(r, corner);
    }
    if (r.hi == INT64_MIN) r.hi++; /* -1 times INT64_MAX: here INT64_MAX is a number, not "unbounded" */
    return r;
}

/* a to the power k >= 1. An odd power is monotone. An even power is that of |a|, which reaches 0 only if a does. */
static ir__range ir__range_power(ir__range a, int k) {
    if (k % 2 == 0) {
        ir__range minus = ir__range_neg(a);
        if (a.hi <= 0) a = minus;
        if (a.lo < 0) a.hi = minus.hi > a.hi ? minus.hi : a.hi, a.lo = 0;
    }
    ir__range r = a;
    for (int i = 1; i < k; i++) r.lo = ir__sat_mul(r.lo, a.lo), r.hi = ir__sat_mul(r.hi, a.hi);
    return r;
}

/* The positive part of a divisor's range (or of its negation's): empty if lo > hi. */
static ir__range ir__range_positive(ir__range b) {
    if (b.lo < 1) b.lo = 1;
    return b;
}

/* a // b for 0 < b.lo <= b.hi: increasing in a; increasing in b if a < 0, decreasing if a >= 0. */
static ir__range ir__range_div_positive(ir__range a, ir__range b) {
    ir__range r = a;
    if (a.lo != INT64_MIN) r.lo = ir__floor_div(a.lo, a.lo < 0 ? b.lo : b.hi);
    if (a.hi != INT64_MAX) r.hi = ir__floor_div(a.hi, a.hi < 0 ? b.hi : b.lo);
    return r;
}

/* a // b = (-a) // (-b), so the negative and the positive part of a divisor's range are handled separately. */
static ir__range ir__range_div(ir__range a, ir__range b) {
    ir__range above = ir__range_positive(b), below = ir__range_positive(ir__range_neg(b));
    if (below.lo > below.hi) return above.lo > above.hi ? ir__full_range : ir__range_div_positive(a, above);
    ir__range low = ir__range_div_positive(ir__range_neg(a), below);
    return above.lo > above.hi ? low : ir__range_hull(low, ir__range_div_positive(a, above));
}

/* a % b for 0 < b.lo <= b.hi: in [0, b); equal to a if a is in [0, b); at most a if a >= 0. If b is constant and both
   ends of a have the same quotient, it is a minus a constant. */
static ir__range ir__range_mod_positive(ir__range a, ir__range b) {
    ir__range r = {0, b.hi == INT64_MAX ? b.hi : b.hi - 1};
    if (a.lo >= 0 && a.hi < b.lo) return a;
    if (b.lo == b.hi && b.hi != INT64_MAX && a.lo != INT64_MIN && a.hi != INT64_MAX) {
        int64_t q = ir__floor_div(a.lo, b.lo);
        if (q == ir__floor_div(a.hi, b.lo)) {
            r.lo = ir__floor_mod(a.lo, b.lo);
            r.hi = ir__floor_mod(a.hi, b.lo);
            return r;
        }
    }
    if (a.lo >= 0 && a.hi < r.hi) r.hi = a.hi;
    return r;
}

/* a % b = -((-a) % (-b)). For b = -2^63 the negation saturates to INT64_MAX, which means unbounded. */
static ir__range ir__range_mod(ir__range a, ir__range b) {
    ir__range above = ir__range_positive(b), below = ir__range_positive(ir__range_neg(b));
    if (below.lo > below.hi) return above.lo > above.hi ? ir__full_range : ir__range_mod_positive(a, above);
    ir__range low = ir__range_neg(ir__range_mod_positive(ir__range_neg(a), below));
    return above.lo > above.hi ? low : ir__range_hull(low, ir__range_mod_positive(a, above));
}

static ir__range ir__range_extreme(bool max, ir__range a, ir__range b) {
    ir__range r = a;
    if (max ? b.lo > a.lo : b.lo < a.lo) r.lo = b.lo;
    if (max ? b.hi > a.hi : b.hi < a.hi) r.hi = b.hi;
    return r;
}

/* The range of a node of this kind (no leaf) from the ranges of its arguments, which `of` returns. */
typedef ir__range (*ir__range_fn)(ind_context *c, uint32_t id, void *user);

static ir__range ir__range_product(ind_context *c, const uint32_t *arg, int n, ir__range_fn of, void *user) {
    ir__range r = {1, 1};
    for (int i = 0, power; i < n; i += power) { /* equal factors are adjacent */
        for (power = 1; i + power < n && arg[i + power] == arg[i];) power++;
        r = ir__range_mul(r, ir__range_power(of(c, arg[i], user), power));
    }
    return r;
}

static int64_t ir__structural_residue(ind_expr e, int64_t m, int64_t *r);

/* The range of a % m for an integer m. If a is r more than a multiple of g, the ends are moved inwards to such
   numbers. */
static ir__range ir__range_residue(ind_context *c, const uint32_t *arg, ir__range range) {
    const ir__expr_node *m = ir__node_at(c->interner, arg[1]);
    int64_t r;
    if (m->kind != IND_EXPR_INT || m->lo < 2 || range.lo < 0) return range;
    int64_t g = ir__structural_residue(ir__expr_make(c, arg[0]), m->lo, &r);
    if (g < 2) return range;
    ir__range inside = {range.lo + ir__floor_mod(r - range.lo, g), range.hi - ir__floor_mod(range.hi - r, g)};
    return inside.lo <= inside.hi ? inside : range;
}

static ir__range ir__range_node(ind_context *c, ind_expr_kind kind, const uint32_t *arg, int n, ir__range_fn of,
                                void *user) {
    ir__range r = {0, 1};
    switch (kind) {
    case IND_EXPR_ADD:
        r.hi = 0;
        for (int i = 0; i < n; i++) r = ir__range_add(r, of(c, arg[i], user));
        return r;
    case IND_EXPR_MUL: return ir__range_product(c, arg, n, of, user);
    case IND_EXPR_FLOORDIV: return ir__range_div(of(c, arg[0], user), of(c, arg[1], user));
    case IND_EXPR_MOD: return ir__range_residue(c, arg, ir__range_mod(of(c, arg[0], user), of(c, arg[1], user)));
    case IND_EXPR_MIN:
    case IND_EXPR_MAX:
        r = of(c, arg[0], user);
        for (int i = 1; i < n; i++) r = ir__range_extreme(kind == IND_EXPR_MAX, r, of(c, arg[i], user));
        return r;
    case IND_EXPR_WHERE: return ir__range_hull(of(c, arg[1], user), of(c, arg[2], user));
    default: return r; /* conditions */
    }
}

static ir__range ir__stored_range(ind_context *c, uint32_t id, void *user) {
    (void)user;
    const ir__expr_node *n = ir__node_at(c->interner, id);
    ir__range r = {n->lo, n->hi};
    return r;
}

static void ir__node_bounds(ind_context *c, ir__expr_node *n) {
    ir__range r = ir__range_node(c, (ind_expr_kind)n->kind, ir__node_args(n), (int)n->num_args, ir__stored_range, NULL);
    n->lo = r.lo;
    n->hi = r.hi;
}

/* Ends rounded inwards to multiples of m; an unbounded end stays unbounded. Empty (lo > hi) if there is no multiple. */
static ir__range ir__range_multiples(ir__range r, int64_t m) {
    if (m < 2) return r;
    int64_t up = r.lo == INT64_MIN ? 0 : -ir__floor_div(-r.lo, m), down = ir__floor_div(r.hi, m);
    if (r.lo != INT64_MIN && ind__mul_overflow(up, m, &r.lo)) r.lo = INT64_MAX;
    if (r.hi != INT64_MAX && ind__mul_overflow(down, m, &r.hi)) r.hi = INT64_MIN;
    return r;
}

static uint32_t ir__find_node(const struct ind__interner *in, ind_expr_kind kind, const uint32_t *arg,
                              uint32_t num_args, int64_t value, uint32_t hash) {
    uint32_t at = (uint32_t)((uint64_t)hash * in->table_size >> 32), id;
    for (; (id = ir__table_next(in, hash, &at)); at++) {
        const ir__expr_node *n = ir__node_at(in, id);
        if (n->kind == kind && n->num_args == num_args &&
            (kind == IND_EXPR_INT ? n->lo == value : !memcmp(ir__node_args(n), arg, num_args * sizeof *arg)))
            break;
    }
    return id;
}

/* The node with this kind and these arguments (INT: this value); not for symbols. */
static ind_expr ir__intern(ind_context *c, ind_expr_kind kind, const uint32_t *arg, int count, int64_t value) {
    struct ind__interner *in = c->interner;
    uint32_t num_args = (uint32_t)count, hash = ir__hash_args(kind, arg, num_args, value), *list = NULL;
    uint32_t id = ir__find_node(in, kind, arg, num_args, value, hash);
    if (id) return ir__expr_make(c, id);
    uint32_t depth = 0, symbols = 0;
    for (uint32_t i = 0; i < num_args; i++) {
        const ir__expr_node *a = ir__node_at(in, arg[i]);
        if (a->depth >= depth) depth = a->depth + 1u;
        symbols |= a->symbols;
    }
    if (depth > IND__MAX_DEPTH || num_args > IND__MAX_TERMS) {
        ind__fail(c, IND_ERROR_LIMIT, "a size expression is nested more than %d levels deep or has more than %d terms",
                  IND__MAX_DEPTH, IND__MAX_TERMS);
        return ir__expr_none(c);
    }
    if (num_args > 2 && !(list = ir__alloc_words(in, num_args))) return ir__expr_none(c);
    if (!(id = ir__interner_append(in))) return ir__expr_none(c);
    ir__expr_node *n = ir__node_at(in, id);
    n->kind = (uint32_t)kind & 31u;
    n->num_args = num_args & 0x7ffffu;
    n->depth = depth & 255u;
    n->symbols = symbols;
    n->lo = n->hi = value;
    if (num_args) memcpy(list ? list : n->arg.few, arg, num_args * sizeof *arg);
    if (list) n->arg.many = list;
    ir__table_put(in, id, hash);
    if (kind != IND_EXPR_INT) ir__node_bounds(c, n);
    return ir__expr_make(c, id);
}

ind_expr ind_int(ind_context *c, int64_t value) {
    if (!c) return ir__expr_none(c);
    const uint64_t at = (uint64_t)value - (uint64_t)IND__LEAST_SMALL;
    if (at >= IND__NUM_SMALL) return ir__intern(c, IND_EXPR_INT, NULL, 0, value);
    uint32_t *id = &c->interner->small_int[at];
    if (!*id) *id = ir__intern(c, IND_EXPR_INT, NULL, 0, value).id;
    return ir__expr_make(c, *id);
}

static bool ir__same_symbol(const ind_symbol *a, const ind_symbol *b) {
    return a->kind == b->kind && a->slot == b->slot && a->lo == b->lo && a->hi == b->hi &&
           a->multiple_of == b->multiple_of && a->hint == b->hint && a->extent.id == b->extent.id &&
           !strcmp(a->name, b->name);
}

/* Looks up a symbol by the hash of its fields. */
static uint32_t ir__find_symbol(const struct ind__interner *in, const ind_symbol *s, uint32_t hash) {
    uint32_t at = (uint32_t)((uint64_t)hash * in->table_size >> 32), id;
    for (; (id = ir__table_next(in, hash, &at)); at++) {
        const ir__expr_node *n = ir__node_at(in, id);
        if (n->kind == IND_EXPR_SYM && ir__same_symbol(&n->arg.symbol->symbol, s)) break;
    }
    return id;
}

/* Orders by length, so that s2 comes before s10, then by the first characters. */
static uint64_t ir__symbol_key(const char *name) {
    size_t length = strlen(name);
    uint64_t key = length < 255 ? length : 255;
    for (size_t i = 0; i < 7; i++) key = key << 8 | (i < length ? (unsigned char)name[i] : 0);
    return key;
}

static ind_status ir__check_symbol(ind_context *c, const ind_symbol *s) {
    if (ind__ok(s->extent) && ir__node_of(s->extent)->depth >= IND__MAX_DEPTH)
        return ind__fail(c, IND_ERROR_LIMIT, "the extents of loop indices are nested more than %d levels deep",
                         IND__MAX_DEPTH);
    if (!s->name || !*s->name) return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "a symbol needs a name");
    if (s->lo > s->hi)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "size %s: the range [%lld, %lld] is empty", s->name,
                         (long long)s->lo, (long long)s->hi);
    if (s->multiple_of < 1)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "size %s: multiple_of is %lld, must be at least 1", s->name,
                         (long long)s->multiple_of);
    if (s->hint < s->lo || s->hint > s->hi)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "size %s: hint %lld is outside [%lld, %lld]", s->name,
                         (long long)s->hint, (long long)s->lo, (long long)s->hi);
    return IND_OK;
}

ind_expr ind_symbol_expr(ind_context *c, const ind_symbol *symbol) {
    if (!c || !symbol) return ir__expr_none(c);
    struct ind__interner *in = c->interner;
    ind_symbol s = *symbol;
    if (!s.multiple_of) s.multiple_of = 1;
    if (ind__ok(s.extent)) {
        int64_t lo, hi;
        ind_expr_bounds(s.extent, &lo, &hi);
        s.lo = s.hint = 0;
        s.hi = hi == INT64_MAX ? hi : hi > 0 ? hi - 1 : 0;
    }
    if (ir__check_symbol(c, &s)) return ir__expr_none(c);
    ir__range given = {s.lo, s.hi}, range = ir__range_multiples(given, s.multiple_of);
    if (range.lo > range.hi) {
        ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "size %s: no multiple of %lld is in the range [%lld, %lld]", s.name,
                  (long long)s.multiple_of, (long long)s.lo, (long long)s.hi);
        return ir__expr_none(c);
    }
    uint32_t hash = ir__hash_symbol(&s);
    uint32_t id = ir__find_symbol(in, &s, hash);
    if (id) return ir__expr_make(c, id);
    ir__symbol *copy = (ir__symbol *)ind__arena_alloc(&in->arena, sizeof *copy);
    const char *name = copy ? ind__arena_string(&in->arena, s.name, strlen(s.name)) : NULL;
    if (!name || !(id = ir__interner_append(in))) return ir__expr_none(c);
    copy->symbol = s;
    copy->symbol.name = name;
    copy->key = ir__symbol_key(name);
    copy->number = in->num_symbols++;
    ir__expr_node *n = ir__node_at(in, id);
    n->kind = IND_EXPR_SYM;
    n->arg.symbol = copy;
    n->symbols = 1u << (copy->number & 31);
    in->kind_symbols[(unsigned)s.kind % IND__NUM_SYMBOL_KINDS] |= n->symbols;
    if (ind__ok(s.extent)) { /* traversals continue into the extent, as a proof may need it */
        n->symbols |= ir__node_of(s.extent)->symbols;
        n->depth = (ir__node_of(s.extent)->depth + 1u) & 255u;
    }
    n->lo = range.lo;
    n->hi = range.hi;
    ir__table_put(in, id, hash);
    return ir__expr_make(c, id);
}

static ir__op_cache_entry *ir__cache_slot(ind_context *c, uint32_t kind, ind_expr a, ind_expr b);

ind_expr ind__index_symbol(ind_context *c, char prefix, int slot, ind_expr extent) {
    if (!ind__ok(extent)) return ir__expr_none(c);
    const uint32_t key = slot >= 0 && slot < 1 << 24 ? IND__CACHED_INDEX + 1 : 0;
    const uint32_t which = (uint32_t)(unsigned char)prefix << 24 | ((uint32_t)slot & 0xffffff);
    const ir__op_cache_entry *had = ir__cache_slot(c, IND__CACHED_INDEX, extent, (ind_expr){c, which});
    if (key && had->key == key && had->a == extent.id && had->b == which) return ir__expr_make(c, had->result);
    char name[16];
    ind__format(name, sizeof name, "%c%d", prefix, slot);
    ind_symbol s = {0};
    s.kind = IND_SYMBOL_INDEX;
    s.slot = slot;
    s.name = name;
    s.extent = extent;
    ind_expr made = ind_symbol_expr(c, &s);
    ir__op_cache_entry entry = {key, extent.id, which, made.id};
    if (key && ind__ok(made)) *ir__cache_slot(c, IND__CACHED_INDEX, extent, (ind_expr){c, which}) = entry;
    return made;
}

ind_expr ind__indirect_symbol(ind_context *c, uint32_t value, ind_expr extent) {
    if (!ind__ok(extent)) return ir__expr_none(c);
    char name[16];
    ind__format(name, sizeof name, "t%u", value);
    ind_symbol s = {0};
    s.kind = IND_SYMBOL_INDIRECT;
    s.slot = (int)value;
    s.name = name;
    s.extent = extent;
    return ind_symbol_expr(c, &s);
}

ind_expr_kind ind_expr_query_kind(ind_expr e) {
    return ind__ok(e) ? (ind_expr_kind)ir__node_of(e)->kind : IND_EXPR_NONE;
}

int ind_expr_num_args(ind_expr e) {
    return ind__ok(e) ? (int)ir__node_of(e)->num_args : 0;
}

ind_expr ind_expr_arg(ind_expr e, int i) {
    return i >= 0 && i < ind_expr_num_args(e) ? ir__expr_make(e.context, ir__node_args(ir__node_of(e))[i])
                                              : ir__expr_none(e.context);
}

const ind_symbol *ind_expr_symbol(ind_expr e) {
    return ind_expr_query_kind(e) == IND_EXPR_SYM ? &ir__node_of(e)->arg.symbol->symbol : NULL;
}

bool ind_expr_is_int(ind_expr e, int64_t *value) {
    if (ind_expr_query_kind(e) != IND_EXPR_INT) return false;
    if (value) *value = ir__node_of(e)->lo;
    return true;
}

static bool ir__same_symbol_elsewhere(const ind_symbol *a, const ind_symbol *b);

/* True if nodes of two contexts with one root are the same expression. */
static bool ir__same_elsewhere(ind_expr a, ind_expr b) {
    if (!a.id || !b.id) return a.id == b.id;
    const ir__expr_node *x = ir__node_of(a), *y = ir__node_of(b);
    if (x->kind != y->kind || x->num_args != y->num_args) return false;
    if (x->kind == IND_EXPR_INT) return x->lo == y->lo;
    if (x->kind == IND_EXPR_SYM) return ir__same_symbol_elsewhere(&x->arg.symbol->symbol, &y->arg.symbol->symbol);
    for (uint32_t i = 0; i < x->num_args; i++) {
        ind_expr p = {a.context, ir__node_args(x)[i]}, q = {b.context, ir__node_args(y)[i]};
        if (!ir__same_elsewhere(p, q)) return false;
    }
    return true;
}

static bool ir__same_symbol_elsewhere(const ind_symbol *a, const ind_symbol *b) {
    return a->kind == b->kind && a->slot == b->slot && a->lo == b->lo && a->hi == b->hi &&
           a->multiple_of == b->multiple_of && a->hint == b->hint && !strcmp(a->name, b->name) &&
           ir__same_elsewhere(a->extent, b->extent);
}

bool ind_expr_same(ind_expr a, ind_expr b) {
    if (!a.id || !b.id || a.context == b.context) return a.id && a.id == b.id;
    return a.context->root == b.context->root && ir__same_elsewhere(a, b);
}

void ind_expr_bounds(ind_expr e, int64_t *lo, int64_t *hi) {
    bool ok = ind__ok(e);
    if (lo) *lo = ok ? ir__node_of(e)->lo : INT64_MIN;
    if (hi) *hi = ok ? ir__node_of(e)->hi : INT64_MAX;
}

/* =============================================================================================== src/ir/expr/sums.c */
/* ---------------------------------------------------------------------------------------------- >>simplify */

/* Every constructor returns the simplest form that the rules of the table IND__EXPR_RULES give; the function that
   applies a rule has its proof. A rule leaves fewer operations, or as many and fewer terms below a division, so
   building terminates. Canonical: equal values should be one node, however they were built. */

static void ir__fire(ind_context *c, ind__expr_rule rule) {
    c->interner->fired[rule]++;
}

const char *ind__expr_rule_name(int rule, const char **law) {
    static const char *const text[][2] = {
#define X(id, name, law) {name, law},
        IND__EXPR_RULES(X)
#undef X
    };
    if (law) *law = rule >= 0 && rule < IND__NUM_EXPR_RULES ? text[rule][1] : NULL;
    return rule >= 0 && rule < IND__NUM_EXPR_RULES ? text[rule][0] : NULL;
}

uint32_t ind__expr_rule_fired(const ind_context *c, int rule) {
    return rule >= 0 && rule < IND__NUM_EXPR_RULES ? c->interner->fired[rule] : 0;
}

static ind_expr ir__fail_overflow(ind_context *c) {
    ind__fail(c, IND_ERROR_OVERFLOW, "a size expression exceeds 64 bits");
    return ir__expr_none(c);
}

/* True if both are valid; makes their contexts equal. If they differ, expressions of modules are imported into the
   user's context. */
static bool ir__both_ok(ind_expr *a, ind_expr *b) {
    if (!ind__ok(*a) || !ind__ok(*b)) return false;
    if (a->context == b->context) return true;
    ind_context *root = a->context->root;
    *a = ind__in_context(root, *a);
    *b = ind__in_context(root, *b);
    return ind__ok(*a) && ind__ok(*b);
}

static int64_t ir__gcd64(int64_t a, int64_t b) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y) {
        uint64_t t = x % y;
        x = y;
        y = t;
    }
    return x > INT64_MAX ? INT64_MAX / 2 + 1 : (int64_t)x; /* 2^63 has no positive form: half of it divides as well */
}

static int ir__expr_compare(ind_expr a, ind_expr b);

/* By kind, by name, then by the other fields that identify a symbol. */
static int ir__symbol_compare(ind_expr a, ind_expr b) {
    const ir__symbol *s = ir__node_of(a)->arg.symbol, *t = ir__node_of(b)->arg.symbol;
    if (s->symbol.kind != t->symbol.kind) return s->symbol.kind < t->symbol.kind ? -1 : 1;
    if (s->key != t->key) return s->key < t->key ? -1 : 1;
    int by_name = strcmp(s->symbol.name, t->symbol.name);
    if (by_name) return by_name < 0 ? -1 : 1;
    const int64_t x[] = {s->symbol.slot, s->symbol.lo, s->symbol.hi, s->symbol.multiple_of, s->symbol.hint};
    const int64_t y[] = {t->symbol.slot, t->symbol.lo, t->symbol.hi, t->symbol.multiple_of, t->symbol.hint};
    for (int i = 0; i < 5; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return ir__expr_compare(s->symbol.extent, t->symbol.extent);
}

/* Total order of nodes by structure, not by age. So texts do not depend on what was built before, and an expression is
   canonical in every context. */
static int ir__expr_compare(ind_expr a, ind_expr b) {
    if (a.id == b.id) return 0;
    if (!a.id || !b.id) return a.id ? 1 : -1;
    const ir__expr_node *x = ir__node_of(a), *y = ir__node_of(b);
    if (x->kind != y->kind) { /* products first: 384*S*i0 + 384*i1 + i2 */
        if (x->kind == IND_EXPR_MUL || y->kind == IND_EXPR_MUL) return x->kind == IND_EXPR_MUL ? -1 : 1;
        return x->kind < y->kind ? -1 : 1;
    }
    if (x->kind == IND_EXPR_INT) return x->lo < y->lo ? -1 : 1;
    if (x->kind == IND_EXPR_SYM) return ir__symbol_compare(a, b);
    if (x->num_args != y->num_args) return x->num_args < y->num_args ? -1 : 1;
    for (uint32_t i = 0; i < x->num_args; i++) {
        ind_expr p = {a.context, ir__node_args(x)[i]}, q = {b.context, ir__node_args(y)[i]};
        int order = ir__expr_compare(p, q);
        if (order) return order;
    }
    return a.id < b.id ? -1 : 1;
}

/* From >>facts: proofs from ranges and the fact set in force. */
static uint32_t ir__facts_generation(ind_context *c);
static int ir__proven_sign(ind_expr b);
static bool ir__known_nonzero(ind_expr e);
static bool ir__known_residue(ind_expr e, ind_expr m, ind_expr *r);
static int ir__known_condition(ind_expr condition);

/* ---- a table of numbers by id */

/* Maps ids to numbers > 0; open addressing, at most half full. Zero-initialise with the context set. `slot` may be lent
   by the caller, zeroed, with `cap` and `lent` set to its capacity, a power of two: then nothing is allocated for the
   first few. */
typedef struct ind__id_map ir__id_map;

static uint32_t ir__map_at(const ir__id_map *m, uint32_t key) {
    uint32_t at = key * 2654435761u & (m->cap - 1);
    while (m->slot[2 * at] && m->slot[2 * at] != key) at = (at + 1) & (m->cap - 1);
    return at;
}

/* 0 if there is none. */
static uint32_t ir__map_get(const ir__id_map *m, uint32_t key) {
    return m->cap ? m->slot[2 * ir__map_at(m, key) + 1] : 0;
}

static void ir__map_free(ir__id_map *m) {
    if (m->cap > m->lent) ind__free(m->context, m->slot);
    m->slot = NULL;
    m->num = m->cap = m->lent = 0;
}

static bool ir__map_grow(ir__id_map *m) {
    ir__id_map wider = *m;
    wider.cap = m->cap ? m->cap * 2 : 64;
    size_t bytes;
    if (m->cap > UINT32_MAX / 4 || !ind__size_mul(wider.cap, 2 * sizeof *m->slot, &bytes)) return false;
    wider.slot = (uint32_t *)ind__alloc(m->context, bytes);
    if (!wider.slot) return false;
    for (uint32_t i = 0; i < m->cap; i++)
        if (m->slot[2 * i])
            memcpy(&wider.slot[2 * ir__map_at(&wider, m->slot[2 * i])], &m->slot[2 * i], 2 * sizeof *m->slot);
    if (m->cap > m->lent) ind__free(m->context, m->slot);
    *m = wider;
    return true;
}

static bool ir__map_put(ir__id_map *m, uint32_t key, uint32_t value) {
    if (m->num * 2 >= m->cap && !ir__map_grow(m)) return false;
    uint32_t at = ir__map_at(m, key);
    m->num += !m->slot[2 * at];
    m->slot[2 * at] = key;
    m->slot[2 * at + 1] = value;
    return true;
}

/* ---- sums */

/* A term c * m of a sum; m has no integer factor (it is the integer 1 for the constant term). */
typedef struct ir__term {
    int64_t c;
    ind_expr m;
    uint64_t key; /* sort key: a difference orders as ir__expr_compare does */
} ir__term;
typedef struct ir__sum {
    ind_context *context;
    ir__term *t;
    uint32_t num, cap;
    bool failed;
} ir__sum;

/* Short lists of terms come from a free list, as sums are created and freed all the time. */
#define IND__TERM_BLOCK 16
typedef struct ir__term_block {
    union {
        struct ir__term_block *next;
        ir__term t[IND__TERM_BLOCK];
    } as;
} ir__term_block;

static void ir__sum_free(ir__sum *s) {
    if (s->cap > IND__TERM_BLOCK) {
        ind__free(s->context, s->t);
    } else if (s->cap) {
        ir__term_block *block = (ir__term_block *)(void *)s->t;
        block->as.next = s->context->interner->free_terms;
        s->context->interner->free_terms = block;
    }
    s->t = NULL;
    s->num = s->cap = 0;
}

static ir__term *ir__sum_block(struct ind__interner *in) {
    ir__term_block *block = in->free_terms;
    if (block)
        in->free_terms = block->as.next;
    else
        block = (ir__term_block *)ind__arena_alloc(&in->arena, sizeof *block);
    return block ? block->as.t : NULL;
}

static bool ir__sum_reserve(ir__sum *s, uint32_t num) {
    if (num <= s->cap) return true;
    uint32_t cap = s->cap ? s->cap * 2 : IND__TERM_BLOCK;
    while (cap < num) cap *= 2;
    ir__term *t = cap == IND__TERM_BLOCK ? ir__sum_block(s->context->interner)
                                         : (ir__term *)ind__alloc(s->context, cap * sizeof *t);
    if (!t) {
        s->failed = true;
        return false;
    }
    uint32_t kept = s->num;
    if (kept) memcpy(t, s->t, kept * sizeof *t);
    ir__sum_free(s);
    s->t = t;
    s->num = kept;
    s->cap = cap;
    return true;
}

/* Splits e into its integer factor and the rest. */
static ir__term ir__term_of(ind_expr e) {
    ir__term t = {1, e, 0};
    const ir__expr_node *n = ir__node_of(e);
    if (n->kind == IND_EXPR_INT) {
        t.c = n->lo;
        t.m = ind_int(e.context, 1);
    } else if (n->kind == IND_EXPR_MUL && ind_expr_is_int(ind_expr_arg(e, 0), &t.c)) {
        t.m = n->num_args == 2 ? ind_expr_arg(e, 1)
                               : ir__intern(e.context, IND_EXPR_MUL, ir__node_args(n) + 1, (int)n->num_args - 1, 0);
    }
    return t;
}

static void ir__sum_push(ir__sum *s, ir__term t) {
    if (!ind__ok(t.m)) s->failed = true;
    if (!s->failed && ir__sum_reserve(s, s->num + 1)) s->t[s->num++] = t;
}

/* Appends factor * e. */
static void ir__sum_add(ir__sum *s, ind_expr e, int64_t factor) {
    if (!ind__ok(e)) s->failed = true;
    if (s->failed) return;
    bool flat = ind_expr_query_kind(e) == IND_EXPR_ADD;
    for (int i = 0; i < (flat ? ind_expr_num_args(e) : 1) && !s->failed; i++) {
        ir__term t = ir__term_of(flat ? ind_expr_arg(e, i) : e);
        if (ind__mul_overflow(t.c, factor, &t.c)) {
            ir__fail_overflow(s->context);
            s->failed = true;
        }
        ir__sum_push(s, t);
    }
}

/* The leading bits of a node's rank in the order of ir__expr_compare: kind; symbols by name; others by the number of
   arguments and the rank of the first. */
static uint64_t ir__order_key(const struct ind__interner *in, uint32_t id, int depth) {
    const ir__expr_node *n = ir__node_at(in, id);
    const uint64_t rank = n->kind == IND_EXPR_MUL ? 0 : n->kind;
    if (n->kind == IND_EXPR_SYM) {
        const ir__symbol *s = n->arg.symbol;
        return rank << 59 | (uint64_t)s->symbol.kind << 56 | s->key >> 8;
    }
    uint64_t first = n->num_args && depth ? ir__order_key(in, ir__node_args(n)[0], depth - 1) : 0;
    return rank << 59 | (uint64_t)n->num_args << 40 | first >> 24;
}

static bool ir__term_before(const ir__term *a, const ir__term *b) {
    return a->key != b->key ? a->key < b->key : ir__expr_compare(a->m, b->m) <= 0;
}

/* Length of the ascending run that starts at t[0]. */
static uint32_t ir__sum_run(const ir__term *t, uint32_t num) {
    uint32_t n = num ? 1 : 0;
    while (n < num && ir__term_before(&t[n - 1], &t[n])) n++;
    return n;
}

static void ir__merge_runs(const ir__term *a, uint32_t num_a, const ir__term *b, uint32_t num_b, ir__term *out) {
    while (num_a && num_b) {
        bool first = ir__term_before(a, b);
        *out++ = first ? *a++ : *b++;
        if (first)
            num_a--;
        else
            num_b--;
    }
    if (num_a) memcpy(out, a, num_a * sizeof *a);
    if (num_b) memcpy(out, b, num_b * sizeof *b);
}

/* Natural merge sort: the parts of a sum are already sorted, so this is close to linear. */
static void ir__sum_sort(ir__sum *s) {
    for (uint32_t i = 0; i < s->num; i++) s->t[i].key = ir__order_key(s->context->interner, s->t[i].m.id, 2);
    if (ir__sum_run(s->t, s->num) == s->num) return;
    ir__sum other = {.context = s->context};
    if (!ir__sum_reserve(&other, s->num)) {
        s->failed = true;
        return;
    }
    other.num = s->num;
    for (uint32_t merges = 2; merges > 1;) { /* each merge outputs one run */
        merges = 0;
        for (uint32_t at = 0; at < s->num; merges++) {
            uint32_t a = ir__sum_run(s->t + at, s->num - at), b = ir__sum_run(s->t + at + a, s->num - at - a);
            ir__merge_runs(s->t + at, a, s->t + at + a, b, other.t + at);
            at += a + b;
        }
        ir__sum swap = *s;
        *s = other;
        other = swap;
    }
    ir__sum_free(&other);
}

/* Sorts, adds equal monomials, drops zeros. */
static void ir__sum_normalise(ir__sum *s) {
    if (!s->failed) ir__sum_sort(s);
    if (s->failed) return;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->num; i++) {
        if (n && s->t[n - 1].m.id == s->t[i].m.id) {
            if (ind__add_overflow(s->t[n - 1].c, s->t[i].c, &s->t[n - 1].c)) {
                ir__fail_overflow(s->context);
                s->failed = true;
                return;
            }
        } else {
            if (n && !s->t[n - 1].c) n--;
            s->t[n++] = s->t[i];
        }
    }
    if (n && !s->t[n - 1].c) n--;
    s->num = n;
}

static ind_expr ir__mul_int(ind_expr m, int64_t c);

/* Builds the sum as a node; sorts the list, which the caller still owns. */
static ind_expr ir__sum_build(ir__sum *s) {
    ind_context *c = s->context;
    ir__sum_normalise(s);
    if (s->failed) return ir__expr_none(c);
    if (!s->num) return ind_int(c, 0);
    if (s->num == 1) return ir__mul_int(s->t[0].m, s->t[0].c);
    uint32_t local[32], *arg = s->num <= 32 ? local : (uint32_t *)ind__alloc(c, s->num * sizeof *arg);
    bool ok = arg != NULL;
    for (uint32_t i = 0; ok && i < s->num; i++) {
        arg[i] = ir__mul_int(s->t[i].m, s->t[i].c).id;
        ok = arg[i] != 0;
    }
    ind_expr e = ok ? ir__intern(c, IND_EXPR_ADD, arg, (int)s->num, 0) : ir__expr_none(c);
    if (arg != local) ind__free(c, arg);
    return e;
}

static bool ir__is_const_term(ir__term t) {
    return ir__node_of(t.m)->kind == IND_EXPR_INT;
}

/* ---- products of a monomial */

/* c * m for a monomial m (no integer factor inside). */
static ind_expr ir__mul_int(ind_expr m, int64_t c) {
    if (!ind__ok(m) || c == 1) return m;
    const ir__expr_node *n = ir__node_of(m);
    if (n->kind == IND_EXPR_INT) {
        int64_t v;
        return ind__mul_overflow(n->lo, c, &v) ? ir__fail_overflow(m.context) : ind_int(m.context, v);
    }
    if (!c) return ind_int(m.context, 0);
    ind_expr factor = ind_int(m.context, c);
    if (!ind__ok(factor)) return factor;
    uint32_t arg[IND__MAX_FACTORS + 1] = {factor.id}, count = n->kind == IND_EXPR_MUL ? n->num_args : 1;
    memcpy(arg + 1, n->kind == IND_EXPR_MUL ? ir__node_args(n) : &m.id, count * sizeof *arg);
    return ir__intern(m.context, IND_EXPR_MUL, arg, (int)count + 1, 0);
}

/* The factors of a monomial. A monomial that is no product is its own only factor, stored in *self. The 1 of a constant
   term has none. */
static uint32_t ir__factors(ind_expr m, const uint32_t **f, uint32_t *self) {
    const ir__expr_node *n = ir__node_of(m);
    *self = m.id;
    *f = n->kind == IND_EXPR_MUL ? ir__node_args(n) : self;
    return n->kind == IND_EXPR_MUL ? n->num_args : n->kind == IND_EXPR_INT ? 0 : 1;
}

/* A monomial from sorted factors. */
static ind_expr ir__monomial(ind_context *c, const uint32_t *f, uint32_t count) {
    return !count ? ind_int(c, 1) : count == 1 ? ir__expr_make(c, f[0]) : ir__intern(c, IND_EXPR_MUL, f, (int)count, 0);
}

/* Monomial e with one occurrence of the factor f removed; invalid (without an error) if f is no factor. */
static ind_expr ir__remove_factor(ind_expr e, ind_expr f) {
    if (!ind__ok(e)) return e;
    const uint32_t *factor;
    uint32_t self, rest[IND__MAX_FACTORS + 1], count = ir__factors(e, &factor, &self), at = 0, kept = 0;
    while (at < count && factor[at] != f.id) at++;
    if (at == count) return ir__expr_none(e.context);
    for (uint32_t k = 0; k < count; k++)
        if (k != at) rest[kept++] = factor[k];
    return ir__monomial(e.context, rest, kept);
}

/* Product of two terms: merges the factor lists. False without an error if the integer overflows. */
static bool ir__mul_terms(ir__term a, ir__term b, ir__term *out) {
    ind_context *c = a.m.context;
    const uint32_t *f, *g;
    uint32_t self[2], all[2 * IND__MAX_FACTORS + 2], num = 0, i = 0, j = 0;
    uint32_t num_f = ir__factors(a.m, &f, &self[0]), num_g = ir__factors(b.m, &g, &self[1]);
    out->m = a.m;
    if (ind__mul_overflow(a.c, b.c, &out->c)) return false;
    if (num_f + num_g > IND__MAX_FACTORS) {
        ind__fail(c, IND_ERROR_LIMIT, "a size expression is a product of more than %d factors", IND__MAX_FACTORS);
        out->m = ir__expr_none(c);
        return true;
    }
    while (i < num_f || j < num_g) {
        bool first = j == num_g || (i < num_f && ir__expr_compare(ir__expr_make(c, f[i]), ir__expr_make(c, g[j])) <= 0);
        all[num++] = first ? f[i++] : g[j++];
    }
    out->m = ir__monomial(c, all, num);
    return true;
}

/* t / d if the division is exact for all values: d's integer divides t's and d's factors are among t's. */
static bool ir__term_divide(ir__term t, ir__term d, ir__term *q) {
    if (!d.c || (t.c == INT64_MIN && d.c == -1) || t.c % d.c) return false;
    const uint32_t *f, *g;
    uint32_t self[2], rest[IND__MAX_FACTORS + 1], num = 0, j = 0;
    uint32_t num_f = ir__factors(t.m, &f, &self[0]), num_g = ir__factors(d.m, &g, &self[1]);
    if (num_g > num_f) return false;
    for (uint32_t i = 0; i < num_f; i++) { /* both lists are in the same order */
        if (j < num_g && f[i] == g[j])
            j++;
        else
            rest[num++] = f[i];
    }
    if (j < num_g) return false;
    q->c = t.c / d.c;
    q->m = num == num_f ? t.m : ir__monomial(t.m.context, rest, num);
    return true;
}

/* The largest monomial that divides both t and d, integers included. */
static ir__term ir__term_gcd(ir__term t, ir__term d) {
    const uint32_t *f, *g;
    uint32_t self[2], common[IND__MAX_FACTORS + 1], num = 0;
    uint32_t num_f = ir__factors(t.m, &f, &self[0]), num_g = ir__factors(d.m, &g, &self[1]);
    for (uint32_t j = 0, i = 0; j < num_g; j++) {
        uint32_t k = i;
        while (k < num_f && f[k] != g[j]) k++;
        if (k == num_f) continue;
        common[num++] = g[j];
        i = k + 1;
    }
    ir__term r = {ir__gcd64(t.c, d.c), ir__monomial(t.m.context, common, num), 0};
    return r;
}

static bool ir__term_is_one(ir__term t) {
    return t.c == 1 && ir__is_const_term(t);
}

static ind_expr ir__term_expr(ir__term t) {
    return ir__mul_int(t.m, t.c);
}

static ind_expr ir__mul2(ind_expr a, ind_expr b);
static ind_expr ir__divide(ind_expr a, ind_expr b);
static ind_expr ir__modulo(ind_expr a, ind_expr b);
static bool ir__in_range(ind_expr e, ind_expr below); /* proven: 0 <= e < below */
static bool ir__prove_ge0(ind_expr e);

/* Terms of a sum; any other expression is a sum of one. */
static int ir__num_terms(ind_expr e) {
    return ind_expr_query_kind(e) == IND_EXPR_ADD ? ind_expr_num_args(e) : 1;
}

static ind_expr ir__term_at(ind_expr e, int i) {
    return ind_expr_query_kind(e) == IND_EXPR_ADD ? ind_expr_arg(e, i) : e;
}

/* Factors of a product; any other expression is a product of one. */
static int ir__num_factors(ind_expr m) {
    return ind_expr_query_kind(m) == IND_EXPR_MUL ? ind_expr_num_args(m) : 1;
}

static ind_expr ir__factor_at(ind_expr m, int i) {
    return ind_expr_query_kind(m) == IND_EXPR_MUL ? ind_expr_arg(m, i) : m;
}

/* The factor x // k of a term, if k divides x: the exact quotient x/k. Returns k and x in *k and *x. */
static ind_expr ir__exact_factor(ir__term t, int64_t *k, ind_expr *x) {
    const uint32_t *f;
    uint32_t self, count = ir__factors(t.m, &f, &self);
    for (uint32_t i = 0; i < count; i++) {
        ind_expr e = ir__expr_make(t.m.context, f[i]);
        if (ind_expr_query_kind(e) != IND_EXPR_FLOORDIV || !ind_expr_is_int(ind_expr_arg(e, 1), k)) continue;
        *x = ind_expr_arg(e, 0);
        if (*k > 1 && ind_expr_query_kind(*x) != IND_EXPR_ADD && ind_known_multiple(*x, *k)) return e;
    }
    return ir__expr_none(t.m.context);
}

/* ========================================================================================== src/ir/expr/sum_rules.c */
/* ---- rules of sums: x = m * (x // m) + x % m; any two of the three give the third */

/* The index of monomial m in a normalised sum; num if there is none. */
static uint32_t ir__sum_find(const ir__sum *s, ind_expr m) {
    const uint64_t key = ir__order_key(s->context->interner, m.id, 2);
    uint32_t lo = 0, hi = s->num;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        const ir__term *t = &s->t[mid];
        if (t->m.id == m.id) return mid;
        if (t->key != key ? t->key < key : ir__expr_compare(t->m, m) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return s->num;
}

/* State of the rules on one sum; `extra` is added after all terms are processed. */
typedef struct ir__combiner {
    ir__sum *s;
    ir__sum extra;
    ir__id_map roots;   /* number of different divisions of the sum with this root */
    uint32_t first[32]; /* initial storage of roots: most sums have few divisions */
    uint32_t num_mods;  /* terms that contain a modulo */
} ir__combiner;

/* The expression that a division finally divides: x for x // m, x % m, (x // m) % n and so on. The rules combine
   divisions of one root. */
static uint32_t ir__division_root(const struct ind__interner *in, uint32_t id) {
    for (;;) {
        const ir__expr_node *n = ir__node_at(in, id);
        if (n->kind != IND_EXPR_FLOORDIV && n->kind != IND_EXPR_MOD) return id;
        id = n->arg.few[0];
    }
}

static bool ir__is_division(const ir__expr_node *n) {
    return n->kind == IND_EXPR_FLOORDIV || n->kind == IND_EXPR_MOD;
}

/* Counts the roots of all divisions among the factors; false if there are none (or no memory: then no rule is
   applied). */
static bool ir__combiner_count(ir__combiner *j, ir__sum *s, ir__id_map *seen) {
    const struct ind__interner *in = s->context->interner;
    for (uint32_t i = 0; i < s->num; i++) {
        const uint32_t *f;
        uint32_t self, count = ir__factors(s->t[i].m, &f, &self), mods = 0;
        for (uint32_t k = 0; k < count; k++) {
            const ir__expr_node *n = ir__node_at(in, f[k]);
            if (!ir__is_division(n)) continue;
            mods += n->kind == IND_EXPR_MOD;
            if (ir__map_get(seen, f[k])) continue;
            uint32_t root = ir__division_root(in, f[k]);
            if (!ir__map_put(seen, f[k], 1) || !ir__map_put(&j->roots, root, ir__map_get(&j->roots, root) + 1))
                return false;
        }
        j->num_mods += mods > 0;
    }
    return j->roots.num > 0;
}

static bool ir__combiner_begin(ir__combiner *j, ir__sum *s) {
    ir__combiner empty = {.s = s, .extra = {.context = s->context}};
    uint32_t first[32] = {0};
    ir__id_map seen = {.context = s->context, .slot = first, .cap = 16, .lent = 16};
    *j = empty;
    j->roots = seen;
    j->roots.slot = j->first;
    bool any = ir__combiner_count(j, s, &seen);
    ir__map_free(&seen);
    return any;
}

/* True if another division of the sum has the same root as f. */
static bool ir__has_sibling(const ir__combiner *j, ind_expr f) {
    return ir__map_get(&j->roots, ir__division_root(j->s->context->interner, f.id)) > 1;
}

/* True if the sum may contain c * q * x: it must contain the first term of q * x, so that term is already interned. */
static bool ir__may_contain(const ir__sum *s, ir__term q, ind_expr x) {
    const struct ind__interner *in = s->context->interner;
    const ir__expr_node *sum = ir__node_of(x);
    uint32_t i = 0;
    ind_expr first = x;
    for (; sum->kind == IND_EXPR_ADD && i < sum->num_args; i++) {
        first = ir__expr_make(s->context, ir__node_args(sum)[i]);
        if (ir__node_of(first)->kind != IND_EXPR_INT) break;
    }
    const uint32_t *f, *g;
    uint32_t self[2], all[2 * IND__MAX_FACTORS + 2], num = 0, a = 0, b = 0;
    uint32_t num_f = ir__factors(q.m, &f, &self[0]), num_g = ir__factors(first, &g, &self[1]);
    if (num_g && ir__node_at(in, g[0])->kind == IND_EXPR_INT) g++, num_g--;
    if (num_f + num_g > IND__MAX_FACTORS || !num_g) return false;
    while (a < num_f || b < num_g) {
        bool left = b == num_g || (a < num_f && ir__expr_compare(ir__expr_make(s->context, f[a]),
                                                                 ir__expr_make(s->context, g[b])) <= 0);
        all[num++] = left ? f[a++] : g[b++];
    }
    uint32_t id =
        num == 1 ? all[0] : ir__find_node(in, IND_EXPR_MUL, all, num, 0, ir__hash_args(IND_EXPR_MUL, all, num, 0));
    return id && ir__sum_find(s, ir__expr_make(s->context, id)) < s->num;
}

/* True if the sum contains all terms of e with exactly these coefficients. The constant may differ, as it can be
   split. */
static bool ir__sum_contains(const ir__sum *s, ind_expr e) {
    ir__sum part = {.context = s->context};
    ir__sum_add(&part, e, 1);
    bool all = !part.failed, any = false;
    for (uint32_t i = 0; all && i < part.num; i++) {
        if (ir__is_const_term(part.t[i])) continue;
        uint32_t at = ir__sum_find(s, part.t[i].m);
        any = true;
        all = at < s->num && s->t[at].c == part.t[i].c;
    }
    ir__sum_free(&part);
    return all && any;
}

/* Removes e and the term i from the sum, and adds r. */
static bool ir__combine_apply(ir__combiner *j, uint32_t i, ind_expr e, ind_expr r, ind__expr_rule rule) {
    if (!ind__ok(r)) return false;
    ir__sum part = {.context = j->s->context};
    ir__sum_add(&part, e, 1);
    for (uint32_t k = 0; k < part.num && !part.failed; k++) {
        uint32_t at = ir__sum_find(j->s, part.t[k].m);
        if (at < j->s->num && !ir__is_const_term(part.t[k]))
            j->s->t[at].c = 0;
        else if (part.t[k].c != INT64_MIN)
            ir__sum_push(&j->extra, (ir__term){-part.t[k].c, part.t[k].m, 0});
        else
            part.failed = true;
    }
    j->s->t[i].c = 0;
    ir__sum_add(&j->extra, r, 1);
    if (part.failed) j->extra.failed = true;
    ir__sum_free(&part);
    ir__fire(j->s->context, rule);
    return true;
}

/* q*(y % m) + q*m*((y // m) % n) = q*(y % (m*n)): both sides are q times the remainder of y by m*n, for m and n > 0. */
static bool ir__combine_modular(ir__combiner *j, uint32_t i, ir__term q, ind_expr y, ind_expr m, ind_expr quotient) {
    ind_expr scale = ir__mul2(ir__term_expr(q), m);
    for (uint32_t k = 0; k < j->s->num && j->num_mods <= 64 && ind__ok(scale); k++) {
        const uint32_t *f;
        uint32_t self, count = j->s->t[k].c && k != i ? ir__factors(j->s->t[k].m, &f, &self) : 0;
        for (uint32_t v = 0; v < count; v++) {
            ind_expr other = ir__expr_make(m.context, f[v]);
            if (ind_expr_query_kind(other) != IND_EXPR_MOD || ind_expr_arg(other, 0).id != quotient.id) continue;
            ind_expr n = ind_expr_arg(other, 1), cofactor = ir__remove_factor(j->s->t[k].m, other);
            if (ir__mul_int(cofactor, j->s->t[k].c).id != scale.id) continue;
            if (ir__proven_sign(m) != 1 || ir__proven_sign(n) != 1) continue;
            ind_expr whole = ir__mul2(ir__term_expr(q), ir__modulo(y, ir__mul2(m, n)));
            return ir__combine_apply(j, i, ir__term_expr(j->s->t[k]), whole, IND__EXPR_RULE_COMBINE_MODULAR);
        }
    }
    return false;
}

/* scale * (x // m) in one of its forms, if the sum contains it. x = (z // g) % n divided by m is also (z % (g*n)) //
   (g*m). */
static ind_expr ir__find_partner(const ir__combiner *j, ind_expr scale, ind_expr x, ind_expr m, ind_expr partner) {
    ind_expr_kind kind = ind_expr_query_kind(partner);
    if (kind != IND_EXPR_ADD && kind != IND_EXPR_INT && ir__sum_contains(j->s, partner)) return partner;
    ind_expr none = ir__expr_none(m.context), inner = ind_expr_arg(x, 0);
    if (ind_expr_query_kind(x) != IND_EXPR_MOD || ind_expr_query_kind(inner) != IND_EXPR_FLOORDIV) return none;
    ind_expr z = ind_expr_arg(inner, 0), g = ind_expr_arg(inner, 1), n = ind_expr_arg(x, 1);
    if (ir__proven_sign(g) != 1 || ir__proven_sign(n) != 1 || ir__proven_sign(m) != 1) return none;
    ind_expr other = ir__mul2(scale, ir__divide(ir__modulo(z, ir__mul2(g, n)), ir__mul2(g, m)));
    return ind__ok(other) && ind_expr_query_kind(other) != IND_EXPR_ADD && ir__sum_contains(j->s, other) ? other : none;
}

/* A term q * (x % m): together with q*m*(x // m) it is q*x; together with -q*x it is -q*m*(x // m). By the definition
   of %. */
static bool ir__combine_mod(ir__combiner *j, uint32_t i, ind_expr f) {
    ind_expr x = ind_expr_arg(f, 0), m = ind_expr_arg(f, 1);
    ir__term q = {j->s->t[i].c, ir__remove_factor(j->s->t[i].m, f), 0};
    const bool sibling = ir__has_sibling(j, f);
    if (!ind__ok(q.m) || q.c == INT64_MIN || (!sibling && !ir__may_contain(j->s, q, x))) return false;
    ind_expr quotient = ir__divide(x, m), whole = ir__mul2(ir__term_expr(q), x);
    ind_expr scale = ir__mul2(ir__term_expr(q), m), partner = ir__mul2(scale, quotient);
    if (!ind__ok(whole) || !ind__ok(partner)) return false;
    ind_expr found = ir__find_partner(j, scale, x, m, partner);
    if (ind__ok(found)) return ir__combine_apply(j, i, found, whole, IND__EXPR_RULE_COMBINE);
    ind_expr minus = ind_expr_neg(whole);
    if (ind__ok(minus) && ir__sum_contains(j->s, minus))
        return ir__combine_apply(j, i, minus, ind_expr_neg(partner), IND__EXPR_RULE_FLOOR_FROM_DIFFERENCE);
    return sibling && ir__combine_modular(j, i, q, x, m, quotient);
}

/* A term p * (x // b) with p = q*b. If x % b is an integer r: q*(x - r), as b * (x // b) = x - r. Together with -q*x:
   -q * (x % b), by the definition of %. If p and b are integers with gcd g and b divides x: p * (x // b) = (p/g) * (x
   // (b/g)). */
static bool ir__combine_floordiv(ir__combiner *j, uint32_t i, ind_expr f) {
    ind_expr x = ind_expr_arg(f, 0), b = ind_expr_arg(f, 1);
    ir__term p = {j->s->t[i].c, ir__remove_factor(j->s->t[i].m, f), 0}, q;
    if (!ind__ok(p.m) || ind_expr_query_kind(b) == IND_EXPR_ADD || p.c == INT64_MIN) return false;
    ir__term by = ir__term_of(b);
    int64_t d, g;
    if (!ir__term_divide(p, by, &q)) {
        if (!ind_expr_is_int(b, &d) || (g = ir__gcd64(p.c, d)) == 1 || !ind_known_multiple(x, d)) return false;
        ind_expr less = ir__mul2(ir__mul_int(p.m, p.c / g), ir__divide(x, ind_int(b.context, d / g)));
        return ir__combine_apply(j, i, ind_int(b.context, 0), less, IND__EXPR_RULE_EXACT_QUOTIENT);
    }
    const bool exact = ir__facts_generation(j->s->context) || (ind_expr_is_int(b, &d) && ind_known_multiple(x, d));
    if (!exact && !ir__may_contain(j->s, q, x)) return false;
    ind_expr rest = ir__modulo(x, b), whole = ir__mul2(ir__term_expr(q), x);
    if (!ind__ok(rest) || !ind__ok(whole)) return false;
    if (ind_expr_is_int(rest, &d))
        return ir__combine_apply(j, i, ind_int(b.context, 0), ir__mul2(ir__term_expr(q), ind_expr_sub(x, rest)),
                                 IND__EXPR_RULE_EXACT_QUOTIENT);
    ind_expr minus = ind_expr_neg(whole);
    if (!ind__ok(minus) || !ir__sum_contains(j->s, minus)) return false;
    return ir__combine_apply(j, i, minus, ir__mul2(ind_expr_neg(ir__term_expr(q)), rest),
                             IND__EXPR_RULE_MOD_FROM_DIFFERENCE);
}

/* (x // a)*(y // b) = x*y // (a*b) if a divides x and b divides y, and (x // a)*s = x*s // a for a size s: the same
   exact quotient. So equal products of sizes have one form. */
static bool ir__combine_quotients(ir__combiner *j, uint32_t i) {
    ind_context *c = j->s->context;
    int64_t a, b;
    ind_expr x, f = ir__exact_factor(j->s->t[i], &a, &x);
    if (!ind__ok(f)) return false;
    ir__term rest = {1, ir__remove_factor(j->s->t[i].m, f), 0};
    if (!ind__ok(rest.m)) return false;
    const uint32_t *g;
    uint32_t self, count = ir__factors(rest.m, &g, &self);
    for (uint32_t k = 0; k < count; k++) {
        ind_expr other = ir__expr_make(c, g[k]), y = other;
        const ind_symbol *s = ind_expr_symbol(other);
        bool size = s && (s->kind == IND_SYMBOL_SIZE || s->kind == IND_SYMBOL_UNBACKED);
        if (size) b = 1;
        if (!size && ir__exact_factor((ir__term){1, other, 0}, &b, &y).id != other.id) continue;
        if (ind__mul_overflow(a, b, &b)) continue;
        ind_expr quotient = ir__divide(ir__mul2(x, y), ind_int(c, b));
        ind_expr whole = ir__mul2(ir__mul_int(ir__remove_factor(rest.m, other), j->s->t[i].c), quotient);
        return ir__combine_apply(j, i, ind_int(c, 0), whole, IND__EXPR_RULE_COMBINE_QUOTIENTS);
    }
    return false;
}

/* Tries the rules on the term i. */
static bool ir__combine_term(ir__combiner *j, uint32_t i) {
    const uint32_t *f;
    uint32_t self, count = ir__factors(j->s->t[i].m, &f, &self);
    for (uint32_t k = 0; k < count; k++) {
        ind_expr factor = ir__expr_make(j->s->context, f[k]);
        ind_expr_kind kind = ind_expr_query_kind(factor);
        if (kind == IND_EXPR_MOD && j->s->num > 1 && ir__combine_mod(j, i, factor)) return true;
        if (kind == IND_EXPR_FLOORDIV && ir__combine_floordiv(j, i, factor)) return true;
    }
    return count > 1 && ir__combine_quotients(j, i);
}

/* Applies the rules of sums until none applies; each removes a division or makes one smaller. */
static void ir__combine_all(ir__sum *s) {
    for (bool changed = !s->failed; changed;) {
        ir__combiner j;
        changed = false;
        if (!ir__combiner_begin(&j, s)) {
            ir__map_free(&j.roots);
            return;
        }
        ind__state_of(s->context)->quiet++;
        for (uint32_t i = 0; i < s->num; i++)
            if (s->t[i].c && ir__combine_term(&j, i)) changed = true;
        ind__state_of(s->context)->quiet--;
        for (uint32_t i = 0; i < j.extra.num; i++) ir__sum_push(s, j.extra.t[i]);
        s->failed = s->failed || j.extra.failed;
        ir__sum_free(&j.extra);
        ir__map_free(&j.roots);
        ir__sum_normalise(s);
        changed = changed && !s->failed;
    }
}

/* ======================================================================================= src/ir/expr/sum_lattices.c */
/* ---- rules of sums with Min and Max: a number added to all arguments moves into or out of them */

static ind_expr ir__lattice(ind_context *c, ind_expr_kind kind, const ind_expr *v, int n);

/* A term q * f of a sum with f = Min(..) or Max(..). */
typedef struct ir__lattice_term {
    uint32_t at; /* position in the sum */
    ind_expr f;
    ir__term q;
} ir__lattice_term;

#define IND__MAX_LATTICE 8 /* Min and Max terms of a sum that the rules consider */

/* Finds the first Min or Max of two arguments among the factors of term i. */
static bool ir__lattice_at(const ir__sum *s, uint32_t i, ir__lattice_term *l) {
    const uint32_t *f;
    uint32_t self, count = ir__factors(s->t[i].m, &f, &self);
    for (uint32_t k = 0; k < count; k++) {
        const ir__expr_node *n = ir__node_at(s->context->interner, f[k]);
        if ((n->kind != IND_EXPR_MIN && n->kind != IND_EXPR_MAX) || n->num_args != 2) continue;
        l->at = i;
        l->f = ir__expr_make(s->context, f[k]);
        l->q = (ir__term){s->t[i].c, ir__remove_factor(s->t[i].m, l->f), 0};
        return ind__ok(l->q.m);
    }
    return false;
}

/* Replaces the coefficients of two terms of the sum and adds e. False if that exceeds 64 bits: the sum is unchanged. */
static bool ir__sum_replace(ir__sum *s, uint32_t i, int64_t c_i, uint32_t k, int64_t c_k, ind_expr e) {
    ir__sum next = {.context = s->context};
    if (!ind__ok(e) || !ir__sum_reserve(&next, s->num)) return false;
    memcpy(next.t, s->t, s->num * sizeof *s->t);
    next.num = s->num;
    next.t[i].c = c_i;
    next.t[k].c = c_k;
    ir__sum_add(&next, e, 1);
    ir__sum_normalise(&next);
    const bool ok = !next.failed;
    ir__sum_free(ok ? s : &next);
    if (ok) *s = next;
    return ok;
}

/* q*f + r*u = q*(f - by) + rest*u, where q*by = (r - rest)*u and u is the monomial of the term `to`. Subtracting `by`
   from all arguments preserves their order, so f - by is the Min (Max) of the differences. */
static bool ir__lattice_shift(ir__sum *s, const ir__lattice_term *l, uint32_t to, int64_t rest, ind_expr by) {
    ind_expr v[2] = {ind_expr_sub(ind_expr_arg(l->f, 0), by), ind_expr_sub(ind_expr_arg(l->f, 1), by)};
    ind_expr moved = ir__mul2(ir__term_expr(l->q), ir__lattice(s->context, ind_expr_query_kind(l->f), v, 2));
    if (!ir__sum_replace(s, to, rest, l->at, 0, moved)) return false;
    ir__fire(s->context, IND__EXPR_RULE_LATTICE_DIFFERENCE);
    return true;
}

/* True if coefficient `rest` instead of r, next to q*f, is the canonical choice of these equal sums. It is the one
   closer to 0; of r and -r, the one with the sign of f when written with Max. So e and -e are treated alike. */
static bool ir__lattice_better(const ir__lattice_term *l, int64_t r, int64_t rest) {
    if (r == INT64_MIN || rest == INT64_MIN) return false;
    const bool positive = (l->q.c > 0) == (ind_expr_query_kind(l->f) == IND_EXPR_MAX);
    const int64_t before = r < 0 ? -r : r, after = rest < 0 ? -rest : rest;
    return after < before || (after == before && r != rest && (rest > 0) == positive);
}

static bool ir__has_monomial(ind_expr e, ind_expr m) {
    for (int i = 0; i < ir__num_terms(e); i++)
        if (ir__term_of(ir__term_at(e, i)).m.id == m.id) return true;
    return false;
}

/* Subtracts the term t of one argument of f = Min(a, b) from both arguments; q*t moves to the term of the sum with that
   monomial. So adding a term and subtracting it again gives the same node. Integers stay in the sum, where quotients
   and comparisons look for them. */
static bool ir__lattice_absorb(ir__sum *s, const ir__lattice_term *l, int arg, ir__term t) {
    ir__term product;
    int64_t rest;
    if (ir__is_const_term(t) || ir__has_monomial(ind_expr_arg(l->f, !arg), t.m)) return false;
    if (!ir__mul_terms(l->q, t, &product) || !ind__ok(product.m)) return false;
    const uint32_t to = ir__sum_find(s, product.m);
    if (to == s->num || to == l->at || ind__add_overflow(s->t[to].c, product.c, &rest)) return false;
    return ir__lattice_better(l, s->t[to].c, rest) && ir__lattice_shift(s, l, to, rest, ir__term_expr(t));
}

static bool ir__lattice_absorbs(ir__sum *s, const ir__lattice_term *l) {
    for (int arg = 0; arg < 2; arg++) {
        ind_expr a = ind_expr_arg(l->f, arg);
        for (int i = 0; i < ir__num_terms(a); i++)
            if (ir__lattice_absorb(s, l, arg, ir__term_of(ir__term_at(a, i)))) return true;
    }
    return false;
}

/* The c for which the arguments of g are those of f plus c (turned: c minus those of f); else invalid. */
static ind_expr ir__lattice_offset(ind_expr f, ind_expr g, bool turned) {
    ind_expr a = ind_expr_arg(f, 0), b = ind_expr_arg(f, 1);
    for (int i = 0; i < 2; i++) {
        ind_expr x = ind_expr_arg(g, i), y = ind_expr_arg(g, !i);
        ind_expr c = turned ? ind_expr_add(x, a) : ind_expr_sub(x, a),
                 d = turned ? ind_expr_add(y, b) : ind_expr_sub(y, b);
        if (ind__ok(c) && c.id == d.id) return c;
    }
    return ir__expr_none(f.context);
}

/* Combines two terms p*u*f and q*u*g. If g = f + c: (p + q)*u*f + q*u*c. For a Min and a Max with negated arguments, g
   = c - f, as Max(c - x, c - y) = c - Min(x, y): (p - q)*u*f + q*u*c. With c = x + y this is Min(x, y) + Max(x, y) = x
   + y. */
static bool ir__lattice_pair(ir__sum *s, const ir__lattice_term *a, const ir__lattice_term *b) {
    const ir__expr_node *f = ir__node_of(a->f), *g = ir__node_of(b->f);
    const bool turned = f->kind != g->kind;
    int64_t sum;
    if (a->q.m.id != b->q.m.id || f->symbols != g->symbols) return false;
    ind_expr c = ir__lattice_offset(a->f, b->f, turned);
    ind_expr rest = ind__ok(c) ? ir__mul2(ir__term_expr(b->q), c) : c;
    if (turned ? ind__sub_overflow(a->q.c, b->q.c, &sum) : ind__add_overflow(a->q.c, b->q.c, &sum)) return false;
    if (!ir__sum_replace(s, a->at, sum, b->at, 0, rest)) return false;
    ir__fire(s->context, IND__EXPR_RULE_LATTICE_PAIR);
    return true;
}

/* Applies one of these rules, if any applies. Pairs first, as each removes a Min or Max. */
static bool ir__lattice_step(ir__sum *s) {
    ir__lattice_term l[IND__MAX_LATTICE];
    int num = 0;
    for (uint32_t i = 0; i < s->num && num < IND__MAX_LATTICE; i++) num += ir__lattice_at(s, i, &l[num]);
    for (int i = 0; i < num; i++)
        for (int k = i + 1; k < num; k++)
            if (ir__lattice_pair(s, &l[i], &l[k])) return true;
    for (int i = 0; i < num; i++)
        if (ir__lattice_absorbs(s, &l[i])) return true;
    return false;
}

#define IND__MAX_LATTICE_STEPS 64 /* per sum */

/* Without memory the sum fails, as its form must not depend on memory. */
static bool ir__combine_lattices(ir__sum *s) {
    const uint32_t refusals = ind__refusals(s->context);
    int steps = 0;
    ind__state_of(s->context)->quiet++;
    while (steps < IND__MAX_LATTICE_STEPS && s->num > 1 && ir__lattice_step(s)) steps++;
    ind__state_of(s->context)->quiet--;
    s->failed = s->failed || ind__refused_since(s->context, refusals);
    return steps > 0;
}

/* Finding the partner of a term builds expressions, whose sums are combined in turn. A few levels find all partners;
   without a limit the work would double with every level. */
static void ir__sum_combine(ir__sum *s) {
    struct ind__interner *in = s->context->interner;
    ir__sum_normalise(s);
    if (in->combining >= IND__MAX_COMBINING) return;
    in->combining++;
    ir__combine_all(s);
    if (!s->failed && ir__combine_lattices(s)) ir__combine_all(s);
    in->combining--;
}

static ind_expr ir__sum_finish(ir__sum *s) {
    ir__sum_combine(s);
    ind_expr e = ir__sum_build(s);
    ir__sum_free(s);
    return e;
}

/* The cache key of an operation under the facts in force. 0, which disables caching, for generations that do not fit:
   after 67 million states of fact sets. */
static uint32_t ir__cache_key(ind_context *c, uint32_t kind) {
    uint32_t generation = ir__facts_generation(c);
    return generation >> 27 ? 0 : generation << 5 | (kind + 1);
}

static ir__op_cache_entry *ir__cache_slot(ind_context *c, uint32_t kind, ind_expr a, ind_expr b) {
    uint64_t h = ((uint64_t)a.id << 32 | b.id) * 0x9e3779b97f4a7c15ull + kind * 0x85ebca6bull;
    return &c->interner->cache[(h >> 40) & (c->interner->cache_size - 1)];
}

/* Runs a simplifying constructor unless its result under the facts in force is cached. */
static ind_expr ir__cached(ind_expr_kind kind, ind_expr a, ind_expr b, ind_expr (*make)(ind_expr, ind_expr)) {
    uint32_t key = ir__cache_key(a.context, kind);
    ir__op_cache_entry *e = ir__cache_slot(a.context, kind, a, b);
    if (key && e->key == key && e->a == a.id && e->b == b.id) return ir__expr_make(a.context, e->result);
    ind_expr r = make(a, b);
    ir__op_cache_entry entry = {key, a.id, b.id, r.id};
    if (ind__ok(r)) *ir__cache_slot(a.context, kind, a, b) = entry;
    return r;
}

static ind_expr ir__make_add(ind_expr a, ind_expr b) {
    ir__sum s = {.context = a.context};
    ir__sum_add(&s, a, 1);
    ir__sum_add(&s, b, 1);
    return ir__sum_finish(&s);
}

ind_expr ind_expr_add(ind_expr a, ind_expr b) {
    if (!ir__both_ok(&a, &b)) return ir__expr_none(a.context);
    int64_t x, y, v;
    bool ia = ind_expr_is_int(a, &x), ib = ind_expr_is_int(b, &y);
    if (ia && ib) return ind__add_overflow(x, y, &v) ? ir__fail_overflow(a.context) : ind_int(a.context, v);
    if (ia && !x) return b;
    if (ib && !y) return a;
    return ir__cached(IND_EXPR_ADD, a, b, ir__make_add);
}

ind_expr ind_expr_neg(ind_expr a) {
    if (!ind__ok(a)) return a;
    return ir__mul2(ind_int(a.context, -1), a);
}

/* -e, without an error if it has no 64-bit form; *failed if it is invalid for another reason. */
static ind_expr ir__quiet_neg(ind_expr e, bool *failed) {
    uint32_t failures = ind__state_of(e.context)->failures;
    ind__state_of(e.context)->quiet++;
    ind_expr minus = ind_expr_neg(e);
    ind__state_of(e.context)->quiet--;
    *failed = failures != ind__state_of(e.context)->failures;
    return minus;
}

/* a - b if -b has no 64-bit form: 2^63 * m becomes (2^63 - 1) * m + m, which may cancel against a term of a. */
static ind_expr ir__sub_lowest(ind_expr a, ind_expr b) {
    ir__sum s = {.context = a.context};
    ir__sum_add(&s, a, 1);
    for (int i = 0; i < ir__num_terms(b); i++) {
        ir__term t = ir__term_of(ir__term_at(b, i));
        bool lowest = t.c == INT64_MIN;
        ir__sum_push(&s, (ir__term){lowest ? INT64_MAX : -t.c, t.m, 0});
        if (lowest) ir__sum_push(&s, (ir__term){1, t.m, 0});
    }
    return ir__sum_finish(&s);
}

ind_expr ind_expr_sub(ind_expr a, ind_expr b) {
    bool failed;
    if (!ir__both_ok(&a, &b)) return ir__expr_none(a.context);
    ind_expr minus = ir__quiet_neg(b, &failed);
    return ind__ok(minus) || failed ? ind_expr_add(a, minus) : ir__sub_lowest(a, b);
}

static bool ir__all_ok(ind_context *c, const ind_expr *v, int n) {
    if (!c || n < 0 || (n && !v)) return false;
    for (int i = 0; i < n; i++)
        if (!ind__ok(v[i])) return false;
    return true;
}

ind_expr ind_expr_sum(ind_context *c, const ind_expr *v, int n) {
    if (!ir__all_ok(c, v, n)) return ir__expr_none(c);
    ir__sum s = {.context = c};
    for (int i = 0; i < n; i++) ir__sum_add(&s, ind__in_context(c, v[i]), 1);
    return ir__sum_finish(&s);
}

/* =========================================================================================== src/ir/expr/products.c */
/* ---- products */

/* Expands the product. False without an error if an integer overflows. */
static bool ir__expand(const ir__sum *x, const ir__sum *y, ir__sum *out) {
    for (uint32_t i = 0; i < x->num; i++)
        for (uint32_t j = 0; j < y->num && !out->failed; j++) {
            ir__term t;
            if (!ir__mul_terms(x->t[i], y->t[j], &t)) return false;
            ir__sum_push(out, t);
        }
    return true;
}

/* Builds a product. A product of two sums that is too large to expand, or whose integers would overflow, stays a
   product. */
static ind_expr ir__make_mul(ind_expr a, ind_expr b) {
    ind_context *c = a.context;
    ir__sum x = {.context = c}, y = {.context = c}, s = {.context = c};
    ir__sum_add(&x, a, 1);
    ir__sum_add(&y, b, 1);
    s.failed = x.failed || y.failed;
    bool sums = x.num > 1 && y.num > 1, fits = !s.failed && (!sums || (uint64_t)x.num * y.num <= IND__MAX_EXPAND);
    if (fits && !ir__expand(&x, &y, &s)) {
        fits = false;
        if (!sums) {
            ir__fail_overflow(c);
            s.failed = true;
        }
    }
    if (!fits && !s.failed) {
        ir__term whole;
        s.num = 0;
        ir__mul_terms((ir__term){1, a, 0}, (ir__term){1, b, 0}, &whole);
        ir__sum_push(&s, whole);
    }
    ir__sum_free(&x);
    ir__sum_free(&y);
    return ir__sum_finish(&s);
}

static bool ir__is_plain(ind_expr e) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    return kind == IND_EXPR_SYM || kind == IND_EXPR_INT;
}

static ind_expr ir__mul2(ind_expr a, ind_expr b) {
    if (!ir__both_ok(&a, &b)) return ir__expr_none(a.context);
    int64_t x, y, v;
    bool ia = ind_expr_is_int(a, &x), ib = ind_expr_is_int(b, &y);
    if (ia && ib) return ind__mul_overflow(x, y, &v) ? ir__fail_overflow(a.context) : ind_int(a.context, v);
    if ((ia && x == 1) || (ib && !y)) return b;
    if ((ib && y == 1) || (ia && !x)) return a;
    if (ir__is_plain(a) && ir__is_plain(b)) { /* nothing to expand or to combine */
        ir__term t;
        ir__mul_terms(ir__term_of(a), ir__term_of(b), &t);
        return ir__term_expr(t);
    }
    return ir__cached(IND_EXPR_MUL, a, b, ir__make_mul);
}

ind_expr ind_expr_mul(ind_expr a, ind_expr b) {
    return ir__mul2(a, b);
}

ind_expr ind_expr_product(ind_context *c, const ind_expr *v, int n) {
    if (!ir__all_ok(c, v, n)) return ir__expr_none(c);
    ind_expr p = ind_int(c, 1);
    for (int i = 0; i < n; i++) p = ir__mul2(p, ind__in_context(c, v[i]));
    return p;
}

/* ========================================================================================== src/ir/expr/quotients.c */
/* ---- quotients and remainders */

/* State of a // b or a % b while the rules are applied. */
typedef struct ir__division {
    ind_context *context;
    ir__sum a;    /* sorted */
    ind_expr den; /* b, as given */
    ir__term by;  /* b, unless it is a sum */
    bool sum;     /* b is a sum */
    bool mod;     /* computes a % b */
    int sign;     /* 1: b > 0; 2: never zero */
} ir__division;

/* Division by a nonzero b of any sign. If b is negative it divides by -b, unless -a or -b has no 64-bit form. */
static ind_expr ir__divide_nonzero(ind_expr a, ind_expr b, bool mod) {
    if (!ir__both_ok(&a, &b)) return ir__expr_none(a.context);
    if (ir__proven_sign(b) >= 0) return mod ? ir__modulo(a, b) : ir__divide(a, b);
    ind_context *c = a.context;
    uint32_t failures = ind__state_of(c)->failures;
    ind__state_of(c)->quiet++;
    ind_expr r = mod ? ir__modulo(ind_expr_neg(a), ind_expr_neg(b)) : ir__divide(ind_expr_neg(a), ind_expr_neg(b));
    if (mod) r = ind_expr_neg(r);
    ind__state_of(c)->quiet--;
    if (ind__ok(r) || failures != ind__state_of(c)->failures) return r;
    return mod ? ir__modulo(a, b) : ir__divide(a, b);
}

/* The same division with another numerator. */
static ind_expr ir__divide_again(const ir__division *d, ind_expr a) {
    if (d->sign < 0) return ir__divide_nonzero(a, d->den, d->mod);
    return d->mod ? ir__modulo(a, d->den) : ir__divide(a, d->den);
}

static ind_expr ir__no_rule(const ir__division *d) {
    return ir__expr_none(d->context);
}

/* 0 // b = 0 % b = 0. */
static ind_expr ir__rule_zero(ir__division *d) {
    return d->a.num ? ir__no_rule(d) : ind_int(d->context, 0);
}

/* x // 1 = x and x % 1 = x % -1 = 0. */
static ind_expr ir__rule_one(ir__division *d) {
    int64_t b;
    if (!ind_expr_is_int(d->den, &b) || (b != 1 && (b != -1 || !d->mod))) return ir__no_rule(d);
    return d->mod ? ind_int(d->context, 0) : ir__sum_build(&d->a);
}

/* Moves a term to the multiples of g (not divided) or to the rest; an integer is split. */
static void ir__split_term(ir__term t, ir__term g, ir__sum *multiples, ir__sum *rest) {
    ir__term q;
    int64_t above, below;
    if (ir__is_const_term(t) && ir__is_const_term(g)) {
        below = ir__floor_mod(t.c, g.c);
        if (ind__sub_overflow(t.c, below, &above)) above = 0, below = t.c; /* overflow: the integer is no small part */
        if (above) ir__sum_push(multiples, (ir__term){above, t.m, 0});
        if (below) ir__sum_push(rest, (ir__term){below, t.m, 0});
        return;
    }
    bool divides = ir__term_divide(t, g, &q) ||
                   (ir__is_const_term(g) && g.c != INT64_MIN && ind_known_multiple(ir__term_expr(t), g.c));
    ir__sum_push(divides ? multiples : rest, t);
}

/* t / b for b = c * (x/k) with an exact quotient x/k: k*t / (c*x), if that divides in form. */
static bool ir__exact_divide(ir__term t, ir__term b, ir__term *q) {
    int64_t k;
    ind_expr x, f = ir__exact_factor(b, &k, &x);
    if (!ind__ok(f)) return false;
    ir__term with = {b.c, ir__remove_factor(b.m, f), 0}, whole, scaled;
    if (!ind__ok(with.m) || !ir__mul_terms(with, ir__term_of(x), &whole) || !ind__ok(whole.m)) return false;
    return ir__mul_terms(t, (ir__term){k, ind_int(t.m.context, 1), 0}, &scaled) && ind__ok(scaled.m) &&
           ir__term_divide(scaled, whole, q);
}

/* True if the integer c of a numerator is split into a multiple of b and a rest. For b < 0 only if that makes it
   smaller. */
static bool ir__splits(int64_t c, int64_t b) {
    return b > 0 || ((c > 0 ? -c : c) <= b && (b != -1 || c != INT64_MIN));
}

/* (b*q + r) // b = q + r // b and (b*q + r) % b = r % b: floor(q + x) = q + floor(x) for an integer q. Any sign of b.
   For an integer b > 0 the remaining integer of a is in [0, b). */
static ind_expr ir__rule_multiples(ir__division *d) {
    if (d->sum) return ir__no_rule(d);
    ir__sum quotient = {.context = d->context}, rest = quotient;
    for (uint32_t i = 0; i < d->a.num; i++) {
        ir__term t = d->a.t[i], q;
        bool known = d->mod && !ir__is_const_term(t) && ir__is_const_term(d->by);
        if (known && !ir__term_divide(t, d->by, &q) && ind_known_multiple(ir__term_expr(t), d->by.c)) continue;
        if (ir__is_const_term(t) && ir__is_const_term(d->by) && ir__splits(t.c, d->by.c)) {
            int64_t below = ir__floor_mod(t.c, d->by.c);
            if (below) ir__sum_push(&rest, (ir__term){below, t.m, 0});
            if (below != t.c) ir__sum_push(&quotient, (ir__term){ir__floor_div(t.c, d->by.c), t.m, 0});
        } else if (ir__term_divide(t, d->by, &q) || ir__exact_divide(t, d->by, &q)) {
            ir__sum_push(&quotient, q);
        } else {
            ir__sum_push(&rest, t);
        }
    }
    bool applies = rest.num < d->a.num || quotient.num, failed = quotient.failed || rest.failed;
    ind_expr r = ir__no_rule(d);
    if (applies && !failed) {
        ind_expr part = ir__divide_again(d, ir__sum_build(&rest));
        r = d->mod ? part : ind_expr_add(ir__sum_build(&quotient), part);
    }
    d->a.failed = d->a.failed || failed;
    ir__sum_free(&quotient);
    ir__sum_free(&rest);
    return r;
}

/* c*x % b = (c % b)*x % b for integers; the sign of c is preserved, so that no integer grows. */
static ind_expr ir__rule_reduce(ir__division *d) {
    if (!d->mod || d->sum || !ir__is_const_term(d->by)) return ir__no_rule(d);
    bool changed = false;
    for (uint32_t i = 0; i < d->a.num; i++) {
        int64_t less = d->a.t[i].c % d->by.c;
        changed = changed || less != d->a.t[i].c;
        d->a.t[i].c = less;
    }
    return changed ? ir__modulo(ir__sum_build(&d->a), d->den) : ir__no_rule(d);
}

/* The largest monomial that divides all terms of s and g. */
static ir__term ir__sum_content(const ir__sum *s, ir__term g) {
    for (uint32_t i = 0; i < s->num && !ir__term_is_one(g); i++) g = ir__term_gcd(s->t[i], g);
    return g;
}

static ind_expr ir__sum_divided(const ir__sum *s, ir__term g) {
    ir__sum out = {.context = s->context};
    for (uint32_t i = 0; i < s->num; i++) {
        ir__term q;
        if (ir__term_divide(s->t[i], g, &q)) ir__sum_push(&out, q);
    }
    ind_expr e = ir__sum_build(&out);
    ir__sum_free(&out);
    return e;
}

/* (g*r) // (g*b) = r // b and (g*r) % (g*b) = g * (r % b): the quotient r/b is the same number, and
   g*r - g*b*floor(r/b) = g*(r - b*floor(r/b)). g is not zero, as g*b is not. */
static ind_expr ir__rule_common_factor(ir__division *d) {
    ir__sum den = {.context = d->context};
    ir__sum_add(&den, d->den, 1);
    ind_expr r = ir__no_rule(d);
    ir__term g = den.num && !den.failed ? ir__sum_content(&d->a, ir__sum_content(&den, den.t[0])) : d->by;
    if (g.c < 0) g.c = g.c == INT64_MIN ? 1 : -g.c;
    if (!den.failed && ind__ok(g.m) && !ir__term_is_one(g)) {
        ind_expr by = ir__sum_divided(&den, g); /* must still be provably nonzero: the text is parsed again */
        ind_expr less = ind__ok(by) && ir__proven_sign(by) ? ir__divide_nonzero(ir__sum_divided(&d->a, g), by, d->mod)
                                                           : ir__no_rule(d);
        r = d->mod && ind__ok(less) ? ir__mul2(ir__term_expr(g), less) : less;
    }
    ir__sum_free(&den);
    return r;
}

/* 0 <= a < b: a // b = 0 and a % b = a. */
static ind_expr ir__rule_in_range(ir__division *d) {
    ind_expr a = ir__sum_build(&d->a);
    if (!ind__ok(a) || !ir__in_range(a, d->den)) return ir__no_rule(d);
    return d->mod ? a : ind_int(d->context, 0);
}

/* If q <= a/b < q + 1 at both ends of a's bounds: a // b = q and a % b = a - q*b. */
static ind_expr ir__rule_constant(ir__division *d) {
    ind_expr a = ir__sum_build(&d->a);
    int64_t b, lo, hi;
    ind_expr_bounds(a, &lo, &hi);
    if (!ind__ok(a) || !ind_expr_is_int(d->den, &b) || lo == INT64_MIN || hi == INT64_MAX) return ir__no_rule(d);
    int64_t q = ir__floor_div(lo, b), product;
    if (q != ir__floor_div(hi, b) || ind__mul_overflow(q, b, &product)) return ir__no_rule(d);
    return d->mod ? ind_expr_sub(a, ind_int(d->context, product)) : ind_int(d->context, q);
}

/* a % b is known from the facts in force. */
static ind_expr ir__rule_residue(ir__division *d) {
    ind_expr r, a = ir__sum_build(&d->a);
    return d->mod && ir__known_residue(a, d->den, &r) ? r : ir__no_rule(d);
}

static uint32_t ir__num_symbolic(const ir__sum *s) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->num; i++) n += !ir__is_const_term(s->t[i]);
    return n;
}

/* One step of long division: subtracts q * den from the sum, where q is the quotient of its term i and den's term
   pivot. False, with nothing changed, if the number of terms would not shrink; integers are not counted, as FLIP adds
   them. */
static bool ir__long_division_step(ir__sum *rest, const ir__sum *den, uint32_t pivot, uint32_t i, ir__term *q) {
    if (!ir__term_divide(rest->t[i], den->t[pivot], q) || q->c == INT64_MIN) return false;
    ir__sum trial = {.context = rest->context};
    bool ok = true;
    for (uint32_t k = 0; k < rest->num; k++) ir__sum_push(&trial, rest->t[k]);
    for (uint32_t k = 0; k < den->num && ok; k++) {
        ir__term part;
        ok = ir__mul_terms((ir__term){-q->c, q->m, 0}, den->t[k], &part);
        if (ok) ir__sum_push(&trial, part);
    }
    ir__sum_normalise(&trial);
    ok = ok && !trial.failed && ir__num_symbolic(&trial) < ir__num_symbolic(rest);
    ir__sum drop = ok ? *rest : trial;
    if (ok) *rest = trial;
    ir__sum_free(&drop);
    return ok;
}

/* a = q*b + r for two sums, by long division on one term of b; false if no step is possible. */
static bool ir__long_division(const ir__sum *a, ind_expr b, ind_expr *q, ind_expr *r) {
    ir__sum den = {.context = a->context}, rest = den, quotient = den;
    ir__sum_add(&den, b, 1);
    for (uint32_t i = 0; i < a->num; i++) ir__sum_push(&rest, a->t[i]);
    for (uint32_t pivot = 0; pivot < den.num && !quotient.num && !den.failed; pivot++) {
        if (ir__is_const_term(den.t[pivot])) continue;
        for (uint32_t i = 0; i < rest.num;) {
            ir__term t;
            if (ir__long_division_step(&rest, &den, pivot, i, &t)) {
                ir__sum_push(&quotient, t);
                i = 0;
            } else {
                i++;
            }
        }
    }
    bool done = quotient.num && !quotient.failed && !rest.failed;
    if (done) {
        *q = ir__sum_build(&quotient);
        *r = ir__sum_build(&rest);
    }
    ir__sum_free(&den);
    ir__sum_free(&rest);
    ir__sum_free(&quotient);
    return done && ind__ok(*q) && ind__ok(*r);
}

/* (q*b + r) // b = q + r // b as above, any sign of b. */
static ind_expr ir__rule_long_division(ir__division *d) {
    ind_expr q, r;
    if (!d->sum || !ir__long_division(&d->a, d->den, &q, &r)) return ir__no_rule(d);
    r = ir__divide_again(d, r);
    return d->mod ? r : ind_expr_add(q, r);
}

/* The only term of a besides an integer, if it is of this kind with coefficient 1; the integer in *integer. Else
   invalid. */
static ind_expr ir__only_term(const ir__division *d, ind_expr_kind kind, int64_t *integer) {
    ind_expr found = ir__no_rule(d);
    *integer = 0;
    for (uint32_t i = 0; i < d->a.num; i++) {
        if (ir__is_const_term(d->a.t[i])) {
            *integer = d->a.t[i].c;
            continue;
        }
        if (ind__ok(found) || d->a.t[i].c != 1 || ind_expr_query_kind(d->a.t[i].m) != kind) return ir__no_rule(d);
        found = d->a.t[i].m;
    }
    return found;
}

/* True if the upper bounds show that the product may exceed 64 bits. An unbounded factor counts as small enough. */
static bool ir__product_exceeds(ind_expr a, ind_expr b) {
    int64_t x, y, product;
    ind_expr_bounds(a, NULL, &x);
    ind_expr_bounds(b, NULL, &y);
    bool ends = (x != INT64_MAX || ind_expr_is_int(a, NULL)) && (y != INT64_MAX || ind_expr_is_int(b, NULL));
    return ends && ind__mul_overflow(x, y, &product);
}

/* (x // d + c) // b = (x + c*d) // (d*b) for d, b > 0: floor(floor(y) / b) = floor(y / b) for an integer b > 0, with y
   = x/d + c. Not if d*b overflows or its bounds do not prove it positive. */
static ind_expr ir__rule_nested(ir__division *d) {
    int64_t c, scaled, i;
    ind_expr inner = ir__only_term(d, IND_EXPR_FLOORDIV, &c);
    if (d->mod || !ind__ok(inner)) return ir__no_rule(d);
    ind_expr x = ind_expr_arg(inner, 0), by = ind_expr_arg(inner, 1), shift = ind_int(d->context, 0);
    if (ir__proven_sign(by) != 1 || ir__product_exceeds(by, d->den)) return ir__no_rule(d);
    ind_expr product = ir__mul2(by, d->den);
    int64_t least; /* its bounds must prove the sign, or the bounds of the quotient widen */
    ind_expr_bounds(product, &least, NULL);
    if (!ind__ok(product) || least < 1) return ir__no_rule(d);
    if (c)
        shift = ind_expr_is_int(by, &i) && ind__mul_overflow(i, c, &scaled) ? ir__no_rule(d)
                                                                            : ir__mul2(by, ind_int(d->context, c));
    return ind__ok(shift) ? ir__divide(ind_expr_add(x, shift), product) : ir__no_rule(d);
}

/* (x % (b*m)) // b = (x // b) % m for b, m > 0: x % (b*m) = x - b*m*k with k = x // (b*m), so the left side is
   x // b - m*k, and k = (x // b) // m. */
static ind_expr ir__rule_of_mod(ir__division *d) {
    int64_t c;
    ind_expr inner = ir__only_term(d, IND_EXPR_MOD, &c);
    ir__term m;
    if (d->mod || d->sum || c || !ind__ok(inner)) return ir__no_rule(d);
    ind_expr by = ind_expr_arg(inner, 1);
    if (ir__proven_sign(by) != 1) return ir__no_rule(d);
    ind_expr rest = ir__no_rule(d);
    if (ind_expr_query_kind(by) != IND_EXPR_ADD && ir__term_divide(ir__term_of(by), d->by, &m))
        rest = ir__term_expr(m);
    else if (ir__is_const_term(d->by) && ind_known_multiple(by, d->by.c))
        rest = ir__divide(by, d->den);
    if (!ind__ok(rest) || ir__proven_sign(rest) != 1) return rest.id ? ir__no_rule(d) : rest;
    return ir__modulo(ir__divide(ind_expr_arg(inner, 0), d->den), rest);
}

/* True if the first term other than the integer has a negative coefficient. */
static bool ir__leads_negative(const ir__sum *s) {
    for (uint32_t i = 0; i < s->num; i++)
        if (!ir__is_const_term(s->t[i])) return s->t[i].c < 0;
    return false;
}

/* True if b is an integer that divides a. */
static bool ir__exact_division(ir__division *d) {
    if (d->sum || !ir__is_const_term(d->by)) return false;
    ind_expr a = ir__sum_build(&d->a);
    return ind__ok(a) && ind_known_multiple(a, d->by.c);
}

/* c*x // b = c*(x // b) if the integer b divides x; for a sum only the sign is taken out. */
static ind_expr ir__rule_exact_coefficient(ir__division *d) {
    if (d->mod || !ir__exact_division(d)) return ir__no_rule(d);
    ir__term t = d->a.t[0];
    if (d->a.num == 1 && t.c != 1 && ind_known_multiple(t.m, d->by.c))
        return ir__mul2(ind_int(d->context, t.c), ir__divide(t.m, d->den));
    if (d->a.num == 1 || !ir__leads_negative(&d->a)) return ir__no_rule(d);
    return ind_expr_neg(ir__divide(ind_expr_neg(ir__sum_build(&d->a)), d->den));
}

/* ((y + d*b*j) // d) % b = (y // d) % b: the quotient is y // d + b*j. */
static ind_expr ir__rule_floor_multiples(ir__division *d) {
    int64_t c;
    ind_expr inner = ir__only_term(d, IND_EXPR_FLOORDIV, &c), r = ir__no_rule(d);
    if (!d->mod || d->sum || !ind__ok(inner)) return r;
    ind_expr by = ind_expr_arg(inner, 1), whole = ir__mul2(by, d->den);
    if (!ind__ok(whole) || ind_expr_query_kind(whole) == IND_EXPR_ADD) return r;
    ir__sum y = {.context = d->context}, rest = y;
    ir__sum_add(&y, ind_expr_arg(inner, 0), 1);
    for (uint32_t i = 0; i < y.num; i++) {
        ir__term q;
        if (!ir__term_divide(y.t[i], ir__term_of(whole), &q)) ir__sum_push(&rest, y.t[i]);
    }
    if (!y.failed && !rest.failed && rest.num < y.num) {
        ind_expr quotient = ir__divide_nonzero(ir__sum_build(&rest), by, false);
        r = ir__modulo(ind_expr_add(quotient, ind_int(d->context, c)), d->den);
    }
    ir__sum_free(&y);
    ir__sum_free(&rest);
    return r;
}

/* True if b divides e in form or, for an integer b, by known divisors. */
static bool ir__divides(ir__term b, ir__term e) {
    ir__term q;
    if (ir__term_divide(e, b, &q)) return true;
    return ir__is_const_term(b) && b.c != INT64_MIN && ind_known_multiple(ir__term_expr(e), b.c);
}

/* (c*(x % m) + r) % b = (c*x + r) % b if b divides c*m: x % m differs from x by a multiple of m. */
static ind_expr ir__rule_unnest(ir__division *d) {
    if (!d->mod || d->sum) return ir__no_rule(d);
    for (uint32_t i = 0; i < d->a.num; i++) {
        const uint32_t *f;
        uint32_t self, count = ir__factors(d->a.t[i].m, &f, &self);
        for (uint32_t k = 0; k < count; k++) {
            ind_expr mod = ir__expr_make(d->context, f[k]);
            if (ind_expr_query_kind(mod) != IND_EXPR_MOD) continue;
            ir__term c = {d->a.t[i].c, ir__remove_factor(d->a.t[i].m, mod), 0}, scaled;
            ind_expr m = ind_expr_arg(mod, 1);
            if (!ind__ok(c.m) || ind_expr_query_kind(m) == IND_EXPR_ADD) continue;
            if (!ir__mul_terms(c, ir__term_of(m), &scaled) || !ind__ok(scaled.m) || !ir__divides(d->by, scaled))
                continue;
            d->a.t[i].c = 0;
            ir__sum_add(&d->a, ir__mul2(ir__term_expr(c), ind_expr_arg(mod, 0)), 1);
            return ir__modulo(ir__sum_finish(&d->a), d->den);
        }
    }
    return ir__no_rule(d);
}

/* Splits a = u + s with g dividing u and b, 0 <= s < g. */
static bool ir__small_part(ir__division *d, ir__term g, ind_expr *u, ind_expr *s) {
    ir__sum multiples = {.context = d->context}, rest = multiples;
    for (uint32_t i = 0; i < d->a.num; i++) ir__split_term(d->a.t[i], g, &multiples, &rest);
    bool applies = multiples.num && rest.num && !multiples.failed && !rest.failed;
    if (applies) {
        *u = ir__sum_build(&multiples);
        *s = ir__sum_build(&rest);
        applies = ind__ok(*u) && ind__ok(*s) && ir__in_range(*s, ir__term_expr(g));
    }
    ir__sum_free(&multiples);
    ir__sum_free(&rest);
    return applies;
}

static ind_expr ir__try_small_part(ir__division *d, ir__term g) {
    ind_expr u, s;
    if (!ind__ok(g.m) || ir__term_is_one(g) || !ir__small_part(d, g, &u, &s)) return ir__no_rule(d);
    return d->mod ? ind_expr_add(ir__modulo(u, d->den), s) : ir__divide(u, d->den);
}

/* (g*u + s) // (g*b) = u // b and (g*u + s) % (g*b) = g*(u % b) + s for 0 <= s < g: adding s/g < 1 to the integer u
   does not reach the next multiple. Two g are tried per term: its common factor with b in form, and the integer known
   to divide both. */
static ind_expr ir__rule_small_part(ir__division *d) {
    if (d->sum || d->a.num < 2 || d->a.num > 256) return ir__no_rule(d);
    const int64_t known = ind_known_divisor(d->den);
    ind_expr r = ir__no_rule(d), one = ind_int(d->context, 1);
    for (uint32_t i = 0, tries = 0; i < d->a.num && tries < 8 && ind__ok(one) && !ind__ok(r); i++) {
        ir__term t = d->a.t[i], g = ir__term_gcd(t, d->by);
        if (ir__is_const_term(t)) continue;
        if (!ir__is_const_term(g)) r = ir__try_small_part(d, g);
        ir__term both = {ir__gcd64(ind_known_divisor(ir__term_expr(t)), known), one, 0};
        if (!ind__ok(r)) r = ir__try_small_part(d, both);
        tries += !ir__is_const_term(g) || both.c > 1;
    }
    return r;
}

/* The same for a divisor c*p, a monomial c times a sum p: with g = c, or with g = p and a = p*u + s by long
   division. */
static ind_expr ir__rule_small_part_of_sum(ir__division *d) {
    if (!d->sum || d->a.num > 256) return ir__no_rule(d);
    ir__sum den = {.context = d->context};
    ir__sum_add(&den, d->den, 1);
    ir__term content = den.num && !den.failed ? ir__sum_content(&den, den.t[0]) : d->by;
    if (content.c < 0) content.c = content.c == INT64_MIN ? 1 : -content.c;
    ind_expr p = den.failed ? ir__no_rule(d) : ir__sum_divided(&den, content), r = ir__no_rule(d), u, s;
    ir__sum_free(&den);
    if (!ind__ok(p) || !ind__ok(content.m) || ir__term_is_one(content)) return r;
    if (ir__small_part(d, content, &u, &s))
        return d->mod ? ind_expr_add(ir__modulo(u, d->den), s) : ir__divide(u, d->den);
    if (ir__proven_sign(p) != 1) return r;
    if (!ir__long_division(&d->a, p, &u, &s)) return r;
    if (!ir__in_range(s, p)) { /* the long division subtracted one p too many */
        s = ind_expr_add(s, p);
        u = ind_expr_add(u, ind_int(d->context, -1));
        if (!ind__ok(s) || !ind__ok(u) || !ir__in_range(s, p)) return r;
    }
    ind_expr c = ir__term_expr(content);
    return d->mod ? ind_expr_add(ir__mul2(p, ir__divide_nonzero(u, c, true)), s) : ir__divide_nonzero(u, c, false);
}

/* k times the sum; k * f becomes x in each term with the factor f = x/k. */
static ind_expr ir__scaled_by(const ir__sum *s, ind_expr f, int64_t k, ind_expr x) {
    ir__sum out = {.context = s->context};
    for (uint32_t i = 0; i < s->num; i++) {
        ind_expr without = ir__remove_factor(s->t[i].m, f);
        ind_expr t = ind__ok(without) ? ir__mul2(ir__mul_int(without, s->t[i].c), x)
                                      : ir__mul2(ir__term_expr(s->t[i]), ind_int(s->context, k));
        ir__sum_add(&out, t, 1);
    }
    return ir__sum_finish(&out);
}

/* a // b = (k*a) // (k*b) with k > 0, if x then cancels: one side has an exact quotient x/k, the other a factor x. s //
   (s // k) = k and (s // k)*y // s = y // k if k divides s. */
static ind_expr ir__rule_exact_scale(ir__division *d) {
    if (d->mod) return ir__no_rule(d);
    ir__sum den = {.context = d->context};
    ir__sum_add(&den, d->den, 1);
    ind_expr r = ir__no_rule(d);
    for (uint32_t i = 0; i < d->a.num + den.num && i < 16 && !den.failed && !ind__ok(r); i++) {
        int64_t k;
        ind_expr x, f = ir__exact_factor(i < den.num ? den.t[i] : d->a.t[i - den.num], &k, &x);
        if (!ind__ok(f)) continue;
        ind_expr a = ir__scaled_by(&d->a, f, k, x), b = ir__scaled_by(&den, f, k, x);
        ir__sum top = {.context = d->context}, bottom = top;
        ir__sum_add(&top, a, 1);
        ir__sum_add(&bottom, b, 1);
        bool ok = !top.failed && !bottom.failed && bottom.num;
        ir__term g = ok ? ir__sum_content(&top, ir__sum_content(&bottom, bottom.t[0])) : d->by;
        if (g.c < 0) g.c = g.c == INT64_MIN ? 1 : -g.c;
        if (ok && ind__ok(g.m) && !ir__is_const_term(g))
            r = ir__divide_nonzero(ir__sum_divided(&top, g), ir__sum_divided(&bottom, g), false);
        ir__sum_free(&top);
        ir__sum_free(&bottom);
    }
    ir__sum_free(&den);
    return r;
}

/* a // b = -1 - (-a - 1) // b and a % b = b - 1 - (-a - 1) % b for b > 0: n = -a - 1 has n = b*q + r with 0 <= r < b,
   so a = b*(-1 - q) + (b - 1 - r). The canonical numerator is the one proven nonnegative, else the one whose first term
   is positive. They are compared in their final form: if g divides b and all of a but the integer, SMALL_PART turns -a
   - 1 into -a - g. */
static ind_expr ir__rule_flip(ir__division *d) {
    bool negative = false;
    if (ir__exact_division(d)) return ir__no_rule(d); /* handled as -a // b = -(a // b) */
    for (uint32_t i = 0; i < d->a.num; i++) {
        if (d->a.t[i].c == INT64_MIN) return ir__no_rule(d);
        negative = negative || d->a.t[i].c < 0;
    }
    ind_expr a = ir__sum_build(&d->a), one = ind_int(d->context, 1);
    int64_t b, lo;
    ind_expr_bounds(a, &lo, NULL);
    if (!ind__ok(a) || !ind__ok(one) || lo >= 0 || (!negative && lo == INT64_MIN)) return ir__no_rule(d);
    int64_t g = ind_known_divisor(d->den);
    for (uint32_t i = 0; i < d->a.num; i++)
        if (!ir__is_const_term(d->a.t[i])) g = ir__gcd64(g, ind_known_divisor(ir__term_expr(d->a.t[i])));
    ind_expr mirror = ind_expr_sub(ind_expr_neg(a), one), shifted = ind_expr_sub(mirror, ind_int(d->context, g - 1));
    if (ind_expr_is_int(d->den, &b)) shifted = ind_expr_add(shifted, d->den);
    if (!ind__ok(shifted)) return ir__no_rule(d);
    bool here = ir__prove_ge0(a), there = ir__prove_ge0(shifted);
    if (here == there ? !ir__leads_negative(&d->a) : here) return ir__no_rule(d);
    /* after long division by a sum, the mirror may add the removed terms back, endlessly: so it must be in range or
       have no more terms */
    bool inside = d->sum && ir__in_range(mirror, d->den);
    if (d->sum && !inside && ir__num_terms(mirror) > ir__num_terms(a)) return ir__no_rule(d);
    ind_expr r = inside ? (d->mod ? mirror : ind_int(d->context, 0)) : ir__divide_again(d, mirror);
    return ind_expr_sub(d->mod ? ind_expr_sub(d->den, one) : ind_int(d->context, -1), r);
}

typedef struct ir__division_rule {
    ind__expr_rule id;
    bool any_sign; /* holds for negative divisors too */
    ind_expr (*apply)(ir__division *d);
} ir__division_rule;

/* In this order; the first that applies is used. Rules that drop terms come first. */
static const ir__division_rule ir__division_rules[] = {
    {IND__EXPR_RULE_DIVIDE_ZERO, true, ir__rule_zero},
    {IND__EXPR_RULE_DIVIDE_BY_ONE, true, ir__rule_one},
    {IND__EXPR_RULE_MULTIPLES, true, ir__rule_multiples},
    {IND__EXPR_RULE_IN_RANGE, false, ir__rule_in_range},
    {IND__EXPR_RULE_EXACT_COEFFICIENT, false, ir__rule_exact_coefficient},
    {IND__EXPR_RULE_LONG_DIVISION, true, ir__rule_long_division},
    {IND__EXPR_RULE_REDUCE, false, ir__rule_reduce},
    {IND__EXPR_RULE_COMMON_FACTOR, true, ir__rule_common_factor},
    {IND__EXPR_RULE_CONSTANT, true, ir__rule_constant},
    {IND__EXPR_RULE_RESIDUE, true, ir__rule_residue},
    {IND__EXPR_RULE_NESTED, false, ir__rule_nested},
    {IND__EXPR_RULE_FLOOR_OF_MOD, false, ir__rule_of_mod},
    {IND__EXPR_RULE_FLOOR_MULTIPLES, true, ir__rule_floor_multiples},
    {IND__EXPR_RULE_UNNEST, true, ir__rule_unnest},
    {IND__EXPR_RULE_SMALL_PART, false, ir__rule_small_part},
    {IND__EXPR_RULE_SMALL_PART, false, ir__rule_small_part_of_sum},
    {IND__EXPR_RULE_EXACT_SCALE, true, ir__rule_exact_scale},
    {IND__EXPR_RULE_FLIP, false, ir__rule_flip},
};

static ind_expr ir__run_rules(ind_expr a, ind_expr b, bool mod) {
    ind_context *c = a.context;
    ir__division d = {.context = c, .a = {.context = c}, .den = b, .mod = mod, .sign = ir__proven_sign(b)};
    d.sum = ind_expr_query_kind(b) == IND_EXPR_ADD;
    d.by = d.sum ? (ir__term){1, b, 0} : ir__term_of(b);
    ir__sum_add(&d.a, a, 1);
    ir__sum_normalise(&d.a);
    ind_expr r = ir__expr_none(c);
    bool ok = !d.a.failed && ind__ok(d.by.m), done = false;
    const size_t count = sizeof ir__division_rules / sizeof *ir__division_rules;
    bool deep = c->interner->dividing++ >= IND__MAX_RULES;
    for (size_t i = 0; ok && !done && !deep && !d.a.failed && i < count; i++) {
        const ir__division_rule *rule = &ir__division_rules[i];
        if (!rule->any_sign && d.sign != 1) continue;
        uint32_t failures = ind__state_of(c)->failures;
        ind__state_of(c)->quiet++; /* a rewriting that overflows does not apply */
        r = rule->apply(&d);
        ind__state_of(c)->quiet--;
        ok = ind__ok(r) || failures == ind__state_of(c)->failures;
        done = ind__ok(r);
        if (done) ir__fire(c, rule->id);
    }
    c->interner->dividing--;
    ir__sum_free(&d.a);
    uint32_t arg[2] = {a.id, b.id};
    return !ok || done ? r : ir__intern(c, mod ? IND_EXPR_MOD : IND_EXPR_FLOORDIV, arg, 2, 0);
}

static ind_expr ir__make_floordiv(ind_expr a, ind_expr b) {
    return ir__run_rules(a, b, false);
}

static ind_expr ir__make_mod(ind_expr a, ind_expr b) {
    return ir__run_rules(a, b, true);
}

/* a // b for a nonzero b, which is not proven negative unless ir__divide_nonzero could not negate. */
static ind_expr ir__divide(ind_expr a, ind_expr b) {
    if (!ir__both_ok(&a, &b)) return ir__expr_none(a.context);
    int64_t x, y;
    if (ind_expr_is_int(b, &y) && ind_expr_is_int(a, &x))
        return x == INT64_MIN && y == -1 ? ir__fail_overflow(a.context) : ind_int(a.context, ir__floor_div(x, y));
    return ir__cached(IND_EXPR_FLOORDIV, a, b, ir__make_floordiv);
}

static ind_expr ir__modulo(ind_expr a, ind_expr b) {
    if (!ir__both_ok(&a, &b)) return ir__expr_none(a.context);
    int64_t x, y;
    if (ind_expr_is_int(b, &y) && ind_expr_is_int(a, &x)) return ind_int(a.context, ir__floor_mod(x, y));
    return ir__cached(IND_EXPR_MOD, a, b, ir__make_mod);
}

static bool ir__check_divisor(ind_expr b) {
    if (ir__proven_sign(b)) return true;
    char text[128];
    ind_expr_print(b, text, sizeof text);
    if (ind_expr_is_int(b, NULL))
        ind__fail(b.context, IND_ERROR_INVALID_ARGUMENT, "division by zero");
    else
        ind__fail(b.context, IND_ERROR_INVALID_ARGUMENT, "division by %s, which may be zero", text);
    return false;
}

ind_expr ind_expr_floordiv(ind_expr a, ind_expr b) {
    return ir__both_ok(&a, &b) && ir__check_divisor(b) ? ir__divide_nonzero(a, b, false) : ir__expr_none(a.context);
}

ind_expr ind_expr_mod(ind_expr a, ind_expr b) {
    return ir__both_ok(&a, &b) && ir__check_divisor(b) ? ir__divide_nonzero(a, b, true) : ir__expr_none(a.context);
}

ind_expr ind_expr_ceildiv(ind_expr a, ind_expr b) {
    bool failed;
    if (!ir__both_ok(&a, &b)) return ir__expr_none(a.context);
    ind_expr minus = ir__quiet_neg(a, &failed);
    if (ind__ok(minus) || failed) return ind_expr_neg(ind_expr_floordiv(minus, b));
    return ind_expr_add(ind_expr_floordiv(a, b), ind_expr_ne(ind_expr_mod(a, b), ind_int(a.context, 0)));
}

ind_expr ind_expr_modular(ind_expr x, ind_expr d, ind_expr m) {
    return ind_expr_mod(ind_expr_floordiv(x, d), m);
}

/* =========================================================================================== src/ir/expr/lattices.c */
/* ---- Min and Max */

static int ir__expr_order(const void *a, const void *b) {
    return ir__expr_compare(*(const ind_expr *)a, *(const ind_expr *)b);
}

/* A growing list of expressions. */
typedef struct ir__list {
    ind_context *context;
    ind_expr *v;
    uint32_t num, cap;
    bool failed;
} ir__list;

static void ir__list_push(ir__list *l, ind_expr e) {
    ind_expr *slot = ind__ok(e) && !l->failed ? IND__PUSH(l->context, ind_expr, l->v, l->num, l->cap) : NULL;
    if (slot)
        *slot = e;
    else
        l->failed = true;
}

/* Appends e, or its arguments if e is of this kind. */
static void ir__list_flatten(ir__list *l, ind_expr e, ind_expr_kind kind) {
    bool flat = ind_expr_query_kind(e) == kind;
    for (int i = 0; i < (flat ? ind_expr_num_args(e) : 1); i++) ir__list_push(l, flat ? ind_expr_arg(e, i) : e);
}

/* Sorts and removes duplicates. */
static void ir__list_sort(ir__list *l) {
    if (l->failed || !l->num) return;
    qsort(l->v, l->num, sizeof *l->v, ir__expr_order);
    uint32_t n = 1;
    for (uint32_t i = 1; i < l->num; i++)
        if (l->v[i].id != l->v[n - 1].id) l->v[n++] = l->v[i];
    l->num = n;
}

/* Interns a node with the list as arguments, and frees the list. */
static ind_expr ir__list_intern(ir__list *l, ind_expr_kind kind) {
    ind_context *c = l->context;
    uint32_t local[32], *id = l->num <= 32 ? local : (uint32_t *)ind__alloc(c, l->num * sizeof *id);
    ind_expr r = ir__expr_none(c);
    if (!l->failed && id && l->num == 1) r = l->v[0];
    if (!l->failed && id && l->num > 1) {
        for (uint32_t i = 0; i < l->num; i++) id[i] = l->v[i].id;
        r = ir__intern(c, kind, id, (int)l->num, 0);
    }
    if (id != local) ind__free(c, id);
    ind__free(c, l->v);
    return r;
}

static bool ir__is_arg_of(ind_expr e, ind_expr_kind kind, ind_expr arg) {
    for (int i = 0; ind_expr_query_kind(e) == kind && i < ind_expr_num_args(e); i++)
        if (ind_expr_arg(e, i).id == arg.id) return true;
    return false;
}

/* True if Min (Max) never needs a, because of b: b is at most (at least) a. Max(x, Min(x, y)) = x, and dually. */
static bool ir__dominated(ind_expr_kind kind, ind_expr a, ind_expr b, bool prove) {
    int64_t alo, ahi, blo, bhi;
    ind_expr_bounds(a, &alo, &ahi);
    ind_expr_bounds(b, &blo, &bhi);
    bool max = kind == IND_EXPR_MAX;
    if (ir__is_arg_of(a, max ? IND_EXPR_MIN : IND_EXPR_MAX, b)) return true;
    /* INT64_MAX bounds a symbol, but not an expression: an intermediate result may be larger */
    bool bounded = (max ? ahi : bhi) != INT64_MAX || !ind_expr_num_args(max ? a : b);
    if (bounded && (max ? ahi <= blo : alo >= bhi)) return true;
    return prove && (max ? ind_known_le(a, b) : ind_known_le(b, a));
}

/* Drops dominated arguments. More than 32 arguments are compared only with the one with the best bound, to stay
   linear. */
static void ir__lattice_prune(ir__list *l, ind_expr_kind kind) {
    const bool all = l->num <= 32, max = kind == IND_EXPR_MAX;
    uint32_t best = 0, kept = 0;
    for (uint32_t i = 1; i < l->num; i++) {
        int64_t a, b;
        ind_expr_bounds(l->v[i], max ? &a : NULL, max ? NULL : &a);
        ind_expr_bounds(l->v[best], max ? &b : NULL, max ? NULL : &b);
        if (max ? a > b : a < b) best = i;
    }
    for (uint32_t i = 0; i < l->num; i++) {
        bool dominated = false;
        for (uint32_t k = all ? 0 : best; !dominated && k < (all ? l->num : best + 1); k++)
            dominated = k != i && ind__ok(l->v[k]) && ir__dominated(kind, l->v[i], l->v[k], all);
        if (dominated) l->v[i].id = 0;
    }
    for (uint32_t i = 0; i < l->num; i++)
        if (ind__ok(l->v[i])) l->v[kept++] = l->v[i];
    if (kept < l->num) ir__fire(l->context, IND__EXPR_RULE_DOMINATED);
    l->num = kept;
}

/* Min(a + c, b + c) = Min(a, b) + c, and for Max: adding c keeps the order. */
static ind_expr ir__lattice_common(const ir__list *l, ind_expr_kind kind) {
    ir__sum common = {.context = l->context};
    ir__sum_add(&common, l->v[0], 1);
    for (uint32_t i = 1; i < l->num && common.num; i++) {
        ir__sum other = {.context = l->context};
        ir__sum_add(&other, l->v[i], 1);
        ir__sum_normalise(&other);
        uint32_t kept = 0;
        for (uint32_t k = 0; k < common.num; k++) {
            uint32_t at = ir__sum_find(&other, common.t[k].m);
            if (at < other.num && other.t[at].c == common.t[k].c) common.t[kept++] = common.t[k];
        }
        common.num = kept;
        common.failed = common.failed || other.failed;
        ir__sum_free(&other);
    }
    ind_expr shared = common.num ? ir__sum_build(&common) : ir__expr_none(l->context), r = ir__expr_none(l->context);
    ir__sum_free(&common);
    if (!ind__ok(shared)) return r;
    ind_expr rest[32];
    for (uint32_t i = 0; i < l->num; i++) rest[i] = ind_expr_sub(l->v[i], shared);
    r = ind_expr_add(ir__lattice(l->context, kind, rest, (int)l->num), shared);
    if (ind__ok(r)) ir__fire(l->context, IND__EXPR_RULE_LATTICE_COMMON_TERM);
    return r;
}

/* True if the Min or Max is written with the other sign, as -Max(-a, -b) or -Min(-a, -b). If an argument is 0, the
   canonical form is the Max. Else it is the one whose first term is positive: the term that comes first among the first
   terms of the arguments. */
static bool ir__lattice_flips(const ir__list *l, ind_expr_kind kind) {
    ir__term first = {0};
    int64_t value;
    bool positive = false, negative = false;
    for (uint32_t i = 0; i < l->num; i++) {
        if (ind_expr_is_int(l->v[i], &value) && !value) return kind == IND_EXPR_MIN;
        int k = 0, terms = ir__num_terms(l->v[i]);
        while (k < terms && ir__is_const_term(ir__term_of(ir__term_at(l->v[i], k)))) k++;
        if (k == terms) continue;
        const ir__term t = ir__term_of(ir__term_at(l->v[i], k));
        const int order = first.c ? ir__expr_compare(t.m, first.m) : -1;
        if (order > 0) continue;
        positive = t.c > 0 || (positive && !order);
        negative = t.c < 0 || (negative && !order);
        first = t;
    }
    return negative && !positive;
}

/* Min(g*a, g*b) = g*Min(a, b) for an integer g > 0, g*Max(a, b) for g < 0: multiplying by g preserves or reverses the
   order. g > 1 is taken out only if that removes a multiplication from an argument, so that the result does not grow,
   or from Min(0, g*a + g*b). */
static ind_expr ir__lattice_factor(const ir__list *l, ind_expr_kind kind) {
    int64_t g = 0;
    uint32_t freed = 0;
    for (uint32_t i = 0; i < l->num; i++)
        for (int k = 0; k < ir__num_terms(l->v[i]); k++) g = ir__gcd64(g, ir__term_of(ir__term_at(l->v[i], k)).c);
    for (uint32_t i = 0; i < l->num; i++) {
        ir__term t = ir__term_of(l->v[i]);
        const bool alone = !ir__is_const_term(t) && ind_expr_query_kind(l->v[i]) != IND_EXPR_ADD;
        freed += (alone && (t.c == g || t.c == -g)) || (!t.c && l->num == 2);
    }
    const bool turn = ir__lattice_flips(l, kind);
    if (!freed) g = 1;
    if (!g || (g == 1 && !turn)) return ir__expr_none(l->context);
    if (turn) kind = kind == IND_EXPR_MIN ? IND_EXPR_MAX : IND_EXPR_MIN;
    ind_expr part[32];
    for (uint32_t i = 0; i < l->num; i++)
        part[i] = ir__divide_nonzero(l->v[i], ind_int(l->context, turn ? -g : g), false);
    ind_expr r = ir__lattice(l->context, kind, part, (int)l->num);
    r = ind__ok(r) ? ir__mul2(ind_int(l->context, turn ? -g : g), r) : r;
    if (ind__ok(r)) ir__fire(l->context, IND__EXPR_RULE_LATTICE_FACTOR);
    return r;
}

/* Min or Max of n >= 1 expressions: flat, sorted, without dominated arguments. */
static ind_expr ir__lattice(ind_context *c, ind_expr_kind kind, const ind_expr *v, int n) {
    if (n < 1 || !ir__all_ok(c, v, n)) return ir__expr_none(c);
    ir__list l = {.context = c};
    for (int i = 0; i < n; i++) ir__list_flatten(&l, ind__in_context(c, v[i]), kind);
    ir__list_sort(&l);
    ind_expr r = ir__expr_none(c);
    if (!l.failed) {
        ind__state_of(c)->quiet++;
        ir__lattice_prune(&l, kind);
        if (l.num > 1 && l.num <= 32) r = ir__lattice_common(&l, kind);
        if (l.num > 1 && l.num <= 32 && !ind__ok(r)) r = ir__lattice_factor(&l, kind);
        ind__state_of(c)->quiet--;
    }
    if (!ind__ok(r)) return ir__list_intern(&l, kind);
    ind__free(c, l.v);
    return r;
}

static ind_expr ir__make_min(ind_expr a, ind_expr b) {
    ind_expr v[2] = {a, b};
    return ir__lattice(a.context, IND_EXPR_MIN, v, 2);
}

static ind_expr ir__make_max(ind_expr a, ind_expr b) {
    ind_expr v[2] = {a, b};
    return ir__lattice(a.context, IND_EXPR_MAX, v, 2);
}

ind_expr ind_expr_min(ind_expr a, ind_expr b) {
    return ir__both_ok(&a, &b) ? ir__cached(IND_EXPR_MIN, a, b, ir__make_min) : ir__expr_none(a.context);
}

ind_expr ind_expr_max(ind_expr a, ind_expr b) {
    return ir__both_ok(&a, &b) ? ir__cached(IND_EXPR_MAX, a, b, ir__make_max) : ir__expr_none(a.context);
}

ind_expr ind_expr_min_of(ind_context *c, const ind_expr *v, int n) {
    return ir__lattice(c, IND_EXPR_MIN, v, n);
}

ind_expr ind_expr_max_of(ind_context *c, const ind_expr *v, int n) {
    return ir__lattice(c, IND_EXPR_MAX, v, n);
}

/* ========================================================================================= src/ir/expr/conditions.c */
/* ---- conditions */

/* A comparison as sum(terms) + k >= 0 (or == 0), split by sign: `right` has the positive terms, `left` the negative
   ones, negated. */
typedef struct ir__relation {
    ir__sum right, left;
    int64_t k;
} ir__relation;

static void ir__relation_free(ir__relation *r) {
    ir__sum_free(&r->right);
    ir__sum_free(&r->left);
}

/* Divides d >= 0 or d == 0 by the common divisor g of its coefficients: g*x + k >= 0 is x + k // g >= 0, as x is an
   integer. g*x + k == 0 requires that g divides k; ir__decide has proven it false otherwise. */
static bool ir__relation_of(ind_expr d, bool equality, ir__relation *r) {
    ir__relation empty = {{.context = d.context}, {.context = d.context}, 0};
    *r = empty;
    ir__sum s = {.context = d.context};
    ir__sum_add(&s, d, 1);
    int64_t g = 0;
    for (uint32_t i = 0; i < s.num; i++)
        if (!ir__is_const_term(s.t[i])) g = ir__gcd64(g, s.t[i].c);
    bool ok = !s.failed && g > 0;
    for (uint32_t i = 0; ok && i < s.num; i++) {
        ir__term t = s.t[i];
        if (ir__is_const_term(t)) {
            r->k = ir__floor_div(t.c, g);
            ok = !equality || t.c % g == 0;
            continue;
        }
        t.c /= g;
        bool minus = t.c < 0;
        ok = t.c != INT64_MIN;
        if (!ok) break;
        if (minus) t.c = -t.c;
        ir__sum_push(minus ? &r->left : &r->right, t);
    }
    ok = ok && !r->left.failed && !r->right.failed && r->k > INT64_MIN + 1 && r->k < INT64_MAX;
    ir__sum_free(&s);
    return ok;
}

/* Builds left <= right + k in canonical form: x < c, c <= x, a <= b + c or a + c < b with integers, c >= 0 in the last
   two. So the negation of a `<` is a `<=`, and vice versa. */
static ind_expr ir__build_inequality(ir__relation *r) {
    ind_context *c = r->right.context;
    ind_expr left = ir__sum_build(&r->left), right = ir__sum_build(&r->right);
    const bool less = r->left.num && (!r->right.num || r->k < 0);
    if (!r->left.num)
        left = ind_int(c, -r->k);
    else if (!r->right.num)
        right = ind_int(c, r->k + 1);
    else if (less)
        left = ind_expr_add(left, ind_int(c, -r->k - 1));
    else
        right = ind_expr_add(right, ind_int(c, r->k));
    uint32_t arg[2] = {left.id, right.id};
    if (!ind__ok(left) || !ind__ok(right)) return ir__expr_none(c);
    return ir__intern(c, less ? IND_EXPR_LT : IND_EXPR_LE, arg, 2, 0);
}

/* Builds right + k == left in canonical form: the side with the first term comes first. */
static ind_expr ir__build_equality(ir__relation *r, ind_expr_kind kind) {
    ind_context *c = r->right.context;
    bool swap = !r->right.num || (r->left.num && ir__expr_compare(r->left.t[0].m, r->right.t[0].m) < 0);
    ind_expr a = ir__sum_build(swap ? &r->left : &r->right), b = ir__sum_build(swap ? &r->right : &r->left);
    int64_t k = swap ? -r->k : r->k; /* a + k == b */
    bool alone = ind_expr_is_int(b, NULL);
    if (k > 0 && !alone) a = ind_expr_add(a, ind_int(c, k));
    if (k && (k < 0 || alone)) b = ind_expr_sub(b, ind_int(c, k));
    if (!ind__ok(a) || !ind__ok(b)) return ir__expr_none(c);
    uint32_t arg[2] = {a.id, b.id};
    return ir__intern(c, kind, arg, 2, 0);
}

/* 1 if d >= 0 (or d == 0) is proven, 0 if its negation is, else -1. */
static int ir__decide(ind_expr d, bool equality) {
    ind_expr minus_one = ind_int(d.context, -1), minus = ind_expr_neg(d);
    ind_expr above = ind_expr_add(d, minus_one), below = ind_expr_add(minus, minus_one);
    if (ind__ok(below) && ir__prove_ge0(below)) return 0;
    if (!equality) return ir__prove_ge0(d) ? 1 : -1;
    if (ind__ok(above) && ir__prove_ge0(above)) return 0;
    if (ir__prove_ge0(d) && ind__ok(minus) && ir__prove_ge0(minus)) return 1;
    return ir__known_nonzero(d) ? 0 : -1;
}

/* 0 or 1 if a fact decides the condition in this form, else the condition. */
static ind_expr ir__decided(ind_expr condition) {
    int known = ind__ok(condition) ? ir__known_condition(condition) : -1;
    return known < 0 ? condition : ind_int(condition.context, known);
}

static ind_expr ir__condition(ind_expr_kind kind, ind_expr a, ind_expr b) {
    if (!ir__both_ok(&a, &b)) return ir__expr_none(a.context);
    ind_context *c = a.context;
    bool equality = kind == IND_EXPR_EQ || kind == IND_EXPR_NE;
    ind__state_of(c)->quiet++;
    ind_expr d = ind_expr_sub(b, a);
    if (kind == IND_EXPR_LT) d = ind_expr_add(d, ind_int(c, -1)); /* a < b: b - a - 1 >= 0 */
    int known = ind__ok(d) ? ir__decide(d, equality) : -1;
    ir__relation r = {{.context = c}, {.context = c}, 0};
    ind_expr e = ir__expr_none(c);
    if (known >= 0)
        e = ind_int(c, kind == IND_EXPR_NE ? !known : known);
    else if (ind__ok(d) && ir__relation_of(d, equality, &r))
        e = equality ? ir__build_equality(&r, kind) : ir__build_inequality(&r);
    ir__relation_free(&r);
    ind__state_of(c)->quiet--;
    uint32_t arg[2] = {a.id, b.id};
    if (!ind__ok(e)) e = ir__intern(c, kind, arg, 2, 0); /* b - a exceeds 64 bits: compare the sides as given */
    return ir__decided(e);
}

static ind_expr ir__make_eq(ind_expr a, ind_expr b) {
    return ir__condition(IND_EXPR_EQ, a, b);
}
static ind_expr ir__make_ne(ind_expr a, ind_expr b) {
    return ir__condition(IND_EXPR_NE, a, b);
}
static ind_expr ir__make_lt(ind_expr a, ind_expr b) {
    return ir__condition(IND_EXPR_LT, a, b);
}
static ind_expr ir__make_le(ind_expr a, ind_expr b) {
    return ir__condition(IND_EXPR_LE, a, b);
}

ind_expr ind_expr_eq(ind_expr a, ind_expr b) {
    return ir__both_ok(&a, &b) ? ir__cached(IND_EXPR_EQ, a, b, ir__make_eq) : ir__expr_none(a.context);
}
ind_expr ind_expr_ne(ind_expr a, ind_expr b) {
    return ir__both_ok(&a, &b) ? ir__cached(IND_EXPR_NE, a, b, ir__make_ne) : ir__expr_none(a.context);
}
ind_expr ind_expr_lt(ind_expr a, ind_expr b) {
    return ir__both_ok(&a, &b) ? ir__cached(IND_EXPR_LT, a, b, ir__make_lt) : ir__expr_none(a.context);
}
ind_expr ind_expr_le(ind_expr a, ind_expr b) {
    return ir__both_ok(&a, &b) ? ir__cached(IND_EXPR_LE, a, b, ir__make_le) : ir__expr_none(a.context);
}

/* ---- logic; an operand other than 0 or 1 means "not zero" */

static ind_expr ir__truth(ind_expr e) {
    int64_t lo, hi;
    ind_expr_bounds(e, &lo, &hi);
    return !ind__ok(e) || (lo >= 0 && hi <= 1) ? e : ind_expr_ne(e, ind_int(e.context, 0));
}

/* Builds `and` or `or`: flat and sorted. An absorbing operand decides it, and so does an operand together with its
   negation. */
static ind_expr ir__logic(ind_context *c, ind_expr_kind kind, const ind_expr *v, int n) {
    if (n < 1 || !ir__all_ok(c, v, n)) return ir__expr_none(c);
    const int64_t absorbing = kind == IND_EXPR_OR;
    ir__list all = {.context = c}, l = {.context = c};
    for (int i = 0; i < n; i++) ir__list_flatten(&all, ir__truth(ind__in_context(c, v[i])), kind);
    bool decided = false;
    for (uint32_t i = 0; i < all.num; i++) {
        int64_t value;
        if (!ind_expr_is_int(all.v[i], &value))
            ir__list_push(&l, all.v[i]);
        else if (value == absorbing)
            decided = true;
    }
    l.failed = l.failed || all.failed;
    ind__free(c, all.v);
    ir__list_sort(&l);
    for (uint32_t i = 0; i < l.num && l.num <= 32 && !decided && !l.failed; i++) {
        ind_expr opposite = ind_expr_not(l.v[i]);
        for (uint32_t k = 0; k < l.num && !decided; k++) decided = l.v[k].id == opposite.id;
    }
    if (!l.failed && (decided || !l.num)) {
        ind__free(c, l.v);
        return ind_int(c, decided ? absorbing : !absorbing);
    }
    return ir__decided(ir__list_intern(&l, kind));
}

ind_expr ind_expr_and(ind_expr a, ind_expr b) {
    ind_expr v[2] = {a, b};
    return ir__both_ok(&a, &b) ? ir__logic(a.context, IND_EXPR_AND, v, 2) : ir__expr_none(a.context);
}
ind_expr ind_expr_or(ind_expr a, ind_expr b) {
    ind_expr v[2] = {a, b};
    return ir__both_ok(&a, &b) ? ir__logic(a.context, IND_EXPR_OR, v, 2) : ir__expr_none(a.context);
}

ind_expr ind_expr_not(ind_expr a) {
    int64_t v;
    if (!ind__ok(a)) return a;
    if (ind_expr_is_int(a, &v)) return ind_int(a.context, !v);
    switch (ind_expr_query_kind(a)) {
    case IND_EXPR_NOT: return ir__truth(ind_expr_arg(a, 0));
    case IND_EXPR_EQ: return ind_expr_ne(ind_expr_arg(a, 0), ind_expr_arg(a, 1));
    case IND_EXPR_NE: return ind_expr_eq(ind_expr_arg(a, 0), ind_expr_arg(a, 1));
    case IND_EXPR_LT: return ind_expr_le(ind_expr_arg(a, 1), ind_expr_arg(a, 0));
    case IND_EXPR_LE: return ind_expr_lt(ind_expr_arg(a, 1), ind_expr_arg(a, 0));
    default: break;
    }
    int64_t lo, hi;
    ind_expr_bounds(a, &lo, &hi);
    if (lo < 0 || hi > 1) return ind_expr_eq(a, ind_int(a.context, 0));
    return ir__decided(ir__intern(a.context, IND_EXPR_NOT, &a.id, 1, 0));
}

/* Where(c, Where(c, x, y), z) = Where(c, x, z) and Where(c, x, Where(c, y, z)) = Where(c, x, z). */
static ind_expr ir__where_arm(ind_expr cond, ind_expr arm, int side) {
    bool same = ind_expr_query_kind(arm) == IND_EXPR_WHERE && ind_expr_arg(arm, 0).id == cond.id;
    if (same) ir__fire(arm.context, IND__EXPR_RULE_WHERE_NESTED);
    return same ? ind_expr_arg(arm, side) : arm;
}

/* Where(a < b, a, b) = Min(a, b) and Where(a < b, b, a) = Max(a, b). The same for <=, as a = b gives the same value. */
static ind_expr ir__where_lattice(ind_expr cond, ind_expr a, ind_expr b) {
    ind_expr_kind kind = ind_expr_query_kind(cond);
    if (kind != IND_EXPR_LT && kind != IND_EXPR_LE) return ir__expr_none(a.context);
    bool min = cond.id == ind_expr_lt(a, b).id || cond.id == ind_expr_le(a, b).id;
    bool max = cond.id == ind_expr_lt(b, a).id || cond.id == ind_expr_le(b, a).id;
    if (!min && !max) return ir__expr_none(a.context);
    ir__fire(a.context, IND__EXPR_RULE_WHERE_LATTICE);
    return min ? ind_expr_min(a, b) : ind_expr_max(a, b);
}

/* Canonical form: the condition is < rather than <=, == rather than !=, and never `not`. */
ind_expr ind_expr_where(ind_expr cond, ind_expr a, ind_expr b) {
    if (!ir__both_ok(&cond, &a) || !ir__both_ok(&a, &b) || !ir__both_ok(&cond, &b)) return ir__expr_none(a.context);
    ind_context *c = a.context;
    int64_t v, x, y;
    cond = ir__truth(cond);
    ind_expr_kind kind = ind_expr_query_kind(cond);
    if (ind_expr_is_int(cond, &v)) return v ? a : b;
    if (a.id == b.id || !ind__ok(cond)) return ind__ok(cond) ? a : cond;
    if (kind == IND_EXPR_LE || kind == IND_EXPR_NE || kind == IND_EXPR_NOT) {
        ind_expr opposite = ind_expr_not(cond), swap = a;
        cond = opposite;
        a = b;
        b = swap;
        if (ind_expr_is_int(cond, &v)) return v ? a : b; /* the negation may be decided, the condition not */
    }
    a = ir__where_arm(cond, a, 1);
    b = ir__where_arm(cond, b, 2);
    if (a.id == b.id) return a;
    if (ind_expr_is_int(a, &x) && ind_expr_is_int(b, &y) && (x == 0 || x == 1) && (y == 0 || y == 1))
        return x ? cond : ind_expr_not(cond);
    ind__state_of(c)->quiet++;
    ind_expr lattice = ir__where_lattice(cond, a, b);
    ind__state_of(c)->quiet--;
    if (ind__ok(lattice)) return lattice;
    uint32_t arg[3] = {cond.id, a.id, b.id};
    return ind__ok(cond) ? ir__intern(c, IND_EXPR_WHERE, arg, 3, 0) : cond;
}

/* ============================================================================================== src/ir/expr/facts.c */
/* ------------------------------------------------------------------------------------------------- >>facts */

/* Traversals of expressions. An expression is a DAG: exponentially many paths may lead to the same node. So a traversal
   records visited nodes, once it is long enough for that to pay. */

static bool ir__map_copy(ir__id_map *to, const ir__id_map *from) {
    *to = *from;
    if (!from->cap) return true;
    size_t bytes = (size_t)from->cap * 2 * sizeof *from->slot;
    to->slot = (uint32_t *)ind__alloc(from->context, bytes);
    if (to->slot)
        memcpy(to->slot, from->slot, bytes);
    else
        to->num = to->cap = 0;
    return to->slot != NULL;
}

#define IND__UNRECORDED_VISITS 64 /* steps of a traversal before it records visited nodes */

typedef struct ir__traversal {
    ir__id_map seen;
    uint32_t steps;
} ir__traversal;

/* True if this node is to be visited: not visited before. Without memory a node may be visited again, which is only
   slower. */
static bool ir__first_visit(ir__traversal *w, ind_expr e) {
    w->seen.context = e.context;
    if (w->steps < IND__UNRECORDED_VISITS) return w->steps++, true;
    if (ir__map_get(&w->seen, e.id)) return false;
    ir__map_put(&w->seen, e.id, 1);
    return true;
}

static bool ir__visit_depends(ir__traversal *w, ind_expr e, ind_expr symbol) {
    if (e.id == symbol.id) return true;
    const ir__expr_node *n = ir__node_of(e);
    if (!(n->symbols & ir__node_of(symbol)->symbols) || !ir__first_visit(w, e)) return false;
    for (uint32_t i = 0; i < n->num_args; i++)
        if (ir__visit_depends(w, ir__expr_make(e.context, ir__node_args(n)[i]), symbol)) return true;
    return false;
}

bool ind__expr_depends(ind_expr e, ind_expr symbol) {
    if (!ind__ok(e) || !ind__ok(symbol)) return false;
    ir__traversal w = {0};
    bool depends = ir__visit_depends(&w, e, symbol);
    ir__map_free(&w.seen);
    return depends;
}

static bool ir__visit_has_kind(ir__traversal *w, ind_expr e, ind_symbol_kind kind) {
    const ir__expr_node *n = ir__node_of(e);
    if (n->kind == IND_EXPR_SYM) return n->arg.symbol->symbol.kind == kind;
    if (!(n->symbols & e.context->interner->kind_symbols[kind]) || !ir__first_visit(w, e)) return false;
    for (uint32_t i = 0; i < n->num_args; i++)
        if (ir__visit_has_kind(w, ir__expr_make(e.context, ir__node_args(n)[i]), kind)) return true;
    return false;
}

bool ind__expr_has_kind(ind_expr e, ind_symbol_kind kind) {
    if (!ind__ok(e) || !(ir__node_of(e)->symbols & e.context->interner->kind_symbols[kind])) return false;
    ir__traversal w = {0};
    bool has = ir__visit_has_kind(&w, e, kind);
    ir__map_free(&w.seen);
    return has;
}

bool ind__expr_is_size(ind_expr e) {
    return ind__ok(e) && !ind__expr_has_kind(e, IND_SYMBOL_INDEX) && !ind__expr_has_kind(e, IND_SYMBOL_INDIRECT);
}

static int ir__visit_symbols(ir__traversal *w, ind_expr e, ind_expr *out, int max, int n) {
    const ir__expr_node *node = ir__node_of(e);
    if (!node->symbols) return n;
    if (node->kind != IND_EXPR_SYM) {
        if (!ir__first_visit(w, e)) return n;
        for (uint32_t i = 0; i < node->num_args; i++)
            n = ir__visit_symbols(w, ir__expr_make(e.context, ir__node_args(node)[i]), out, max, n);
        return n;
    }
    int known = n < max ? n : max;
    if (known >= IND__UNRECORDED_VISITS && ir__map_get(&w->seen, e.id)) return n;
    for (int i = 0; i < known && i < IND__UNRECORDED_VISITS; i++)
        if (out[i].id == e.id) return n;
    w->seen.context = e.context;
    if (known >= IND__UNRECORDED_VISITS) ir__map_put(&w->seen, e.id, 1); /* too many for a linear search */
    if (n < max) out[n] = e;
    return n + 1;
}

int ind__expr_symbols(ind_expr e, ind_expr *out, int max) {
    if (!ind__ok(e)) return 0;
    ir__traversal w = {0};
    int n = ir__visit_symbols(&w, e, out, max, 0);
    ir__map_free(&w.seen);
    return n;
}

/* ---- values ---- */

/* Intermediate results have 128 bits if the compiler supports it, so a value that fits in 64 bits is always found.
   Otherwise an intermediate result beyond 64 bits is IND_ERROR_OVERFLOW. */
#if IND__GNU && defined(__SIZEOF_INT128__)
__extension__ typedef __int128 ir__wide;

static bool ir__wide_add(ir__wide a, ir__wide b, ir__wide *out) {
    return __builtin_add_overflow(a, b, out);
}

static bool ir__wide_mul(ir__wide a, ir__wide b, ir__wide *out) {
    return __builtin_mul_overflow(a, b, out);
}

static bool ir__wide_negate(ir__wide a, ir__wide *out) {
    return __builtin_sub_overflow(0, a, out);
}
#else
typedef int64_t ir__wide;

static bool ir__wide_add(ir__wide a, ir__wide b, ir__wide *out) {
    return ind__add_overflow(a, b, out);
}

static bool ir__wide_mul(ir__wide a, ir__wide b, ir__wide *out) {
    return ind__mul_overflow(a, b, out);
}

static bool ir__wide_negate(ir__wide a, ir__wide *out) {
    return ind__sub_overflow(0, a, out);
}
#endif

static bool ir__narrow_value(ir__wide v, int64_t *out) {
    *out = (int64_t)v;
    return v >= INT64_MIN && v <= INT64_MAX;
}

static ir__wide ir__wide_floor_div(ir__wide a, ir__wide b) {
    int64_t x, y;
    if (ir__narrow_value(a, &x) && ir__narrow_value(b, &y) && y != -1) return ir__floor_div(x, y);
    ir__wide q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

static ir__wide ir__wide_floor_mod(ir__wide a, ir__wide b) {
    ir__wide r = b == -1 ? 0 : a % b;
    return r && (r < 0) != (b < 0) ? r + b : r;
}

/* The value of a node from the values of its arguments: the only definition of the kinds' meaning. */
static ind_status ir__apply_wide(ind_context *c, ind_expr_kind kind, ir__wide a, ir__wide b, ir__wide third,
                                 ir__wide *out) {
    bool overflow = false;
    ir__wide negated;
    switch (kind) {
    case IND_EXPR_ADD: overflow = ir__wide_add(a, b, out); break;
    case IND_EXPR_MUL: overflow = ir__wide_mul(a, b, out); break;
    case IND_EXPR_FLOORDIV:
    case IND_EXPR_MOD:
        if (!b) return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "division by zero in a size expression");
        overflow = b == -1 && kind == IND_EXPR_FLOORDIV && ir__wide_negate(a, &negated);
        if (!overflow) *out = kind == IND_EXPR_MOD ? ir__wide_floor_mod(a, b) : ir__wide_floor_div(a, b);
        break;
    case IND_EXPR_MIN: *out = a < b ? a : b; break;
    case IND_EXPR_MAX: *out = a > b ? a : b; break;
    case IND_EXPR_EQ: *out = a == b; break;
    case IND_EXPR_NE: *out = a != b; break;
    case IND_EXPR_LT: *out = a < b; break;
    case IND_EXPR_LE: *out = a <= b; break;
    case IND_EXPR_AND: *out = a && b; break;
    case IND_EXPR_OR: *out = a || b; break;
    case IND_EXPR_NOT: *out = !a; break;
    case IND_EXPR_WHERE: *out = a ? b : third; break;
    default: return ind__fail(c, IND_ERROR_VERIFY, "a size expression of kind %d has no value", (int)kind);
    }
    return overflow ? ind__fail(c, IND_ERROR_OVERFLOW, "a size exceeds 64 bits") : IND_OK;
}

static ind_status ir__apply(ind_context *c, ind_expr_kind kind, int64_t a, int64_t b, int64_t third, int64_t *out) {
    ir__wide v = 0;
    ind_status status = ir__apply_wide(c, kind, a, b, third, &v);
    if (status) return status;
    return ir__narrow_value(v, out) ? IND_OK : ind__fail(c, IND_ERROR_OVERFLOW, "a size exceeds 64 bits");
}

/* True for kinds with any number of arguments, which are folded from the left, two at a time. */
static bool ir__is_chain(ind_expr_kind kind) {
    return kind == IND_EXPR_ADD || kind == IND_EXPR_MUL || kind == IND_EXPR_MIN || kind == IND_EXPR_MAX ||
           kind == IND_EXPR_AND || kind == IND_EXPR_OR;
}

typedef struct ir__evaluation {
    ind_context *context;
    ind_symbol_value_fn value;
    void *user;
    uint32_t steps;
    ir__id_map memo; /* id to 1 + position in done; used from IND__UNRECORDED_VISITS steps on */
    ir__wide *done;
    uint32_t num_done, cap_done;
} ir__evaluation;

static ind_status ir__eval(ir__evaluation *v, ind_expr e, ir__wide *out);

/* A product with a factor 0 is 0, however large the other factors are. */
static ind_status ir__eval_chain(ir__evaluation *v, ind_expr e, ir__wide *out) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    ind_status status = ir__eval(v, ind_expr_arg(e, 0), out), overflow = IND_OK;
    for (int i = 1; i < ind_expr_num_args(e) && !status; i++) {
        ir__wide next;
        status = ir__eval(v, ind_expr_arg(e, i), &next);
        if (status) break;
        if (kind == IND_EXPR_MUL && (!next || !*out)) {
            *out = 0;
            overflow = IND_OK;
        } else if (!overflow) {
            overflow = ir__apply_wide(v->context, kind, *out, next, 0, out);
        }
    }
    return status ? status : overflow;
}

/* Only the taken branch of a Where is evaluated. */
static ind_status ir__eval_node(ir__evaluation *v, ind_expr e, ir__wide *out) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    ir__wide a[2] = {0};
    ind_status status = ir__eval(v, ind_expr_arg(e, 0), &a[0]);
    if (status) return status;
    if (kind == IND_EXPR_WHERE) return ir__eval(v, ind_expr_arg(e, a[0] ? 1 : 2), out);
    if (ind_expr_num_args(e) > 1) status = ir__eval(v, ind_expr_arg(e, 1), &a[1]);
    return status ? status : ir__apply_wide(v->context, kind, a[0], a[1], 0, out);
}

static ind_status ir__eval(ir__evaluation *v, ind_expr e, ir__wide *out) {
    int64_t value;
    const ind_symbol *s = ind_expr_symbol(e);
    if (ind_expr_is_int(e, &value)) return *out = value, IND_OK;
    if (s) {
        if (!v->value || !v->value(s, v->user, &value))
            return ind__fail(v->context, IND_ERROR_NOT_FOUND, "no value is given for %s", s->name);
        return *out = value, IND_OK;
    }
    bool written = v->steps++ >= IND__UNRECORDED_VISITS;
    uint32_t known = written ? ir__map_get(&v->memo, e.id) : 0;
    if (known) return *out = v->done[known - 1], IND_OK;
    ind_status status = ir__is_chain(ind_expr_query_kind(e)) ? ir__eval_chain(v, e, out) : ir__eval_node(v, e, out);
    if (status || !written) return status;
    ir__wide *slot = IND__PUSH(v->context, ir__wide, v->done, v->num_done, v->cap_done);
    if (!slot) return IND_ERROR_OUT_OF_MEMORY;
    *slot = *out;
    return ir__map_put(&v->memo, e.id, v->num_done) ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

ind_status ind_expr_eval(ind_expr e, ind_symbol_value_fn value, void *user, int64_t *out) {
    if (!ind__ok(e) || !out) return IND_ERROR_INVALID_ARGUMENT;
    ir__evaluation v = {.context = e.context, .value = value, .user = user, .memo = {.context = e.context}};
    ir__wide wide = 0;
    ind_status status = ir__eval(&v, e, &wide);
    ir__map_free(&v.memo);
    ind__free(e.context, v.done);
    if (status) return status;
    return ir__narrow_value(wide, out) ? IND_OK : ind__fail(e.context, IND_ERROR_OVERFLOW, "a size exceeds 64 bits");
}

static bool ir__hint_of(const ind_symbol *s, void *user, int64_t *out) {
    (void)user;
    int64_t least = s->lo != INT64_MIN ? s->lo : s->hi < 0 ? s->hi : 0;
    *out = ind__ok(s->extent) ? 0 : s->kind == IND_SYMBOL_SIZE || s->hint ? s->hint : least;
    return true;
}

/* Cached independently of the facts in force: a hint depends only on immutable data. */
int64_t ind_hint(ind_expr e) {
    int64_t v = 0;
    if (!ind__ok(e)) return 0;
    const uint32_t key = IND__CACHED_HINT + 1;
    ir__op_cache_entry *had = ir__cache_slot(e.context, IND__CACHED_HINT, e, e);
    if (had->key == key && had->a == e.id) return (int64_t)((uint64_t)had->b << 32 | had->result);
    ind__state_of(e.context)->quiet++;
    ind_status status = ind_expr_eval(e, ir__hint_of, NULL, &v);
    ind__state_of(e.context)->quiet--;
    if (status) return 0;
    *had = (ir__op_cache_entry){key, e.id, (uint32_t)((uint64_t)v >> 32), (uint32_t)v};
    return v;
}

/* ---- rebuilding ---- */

/* Builds a node of e's kind over new arguments through the simplifying constructors. */
ind_expr ind__expr_rebuild(ind_expr e, const ind_expr *arg, int n) {
    ind_context *c = e.context;
    ind_expr_kind kind = ind_expr_query_kind(e);
    switch (kind) {
    case IND_EXPR_ADD: return ind_expr_sum(c, arg, n);
    case IND_EXPR_MUL: return ind_expr_product(c, arg, n);
    case IND_EXPR_MIN:
    case IND_EXPR_MAX: return ir__lattice(c, kind, arg, n);
    case IND_EXPR_FLOORDIV: return ind_expr_floordiv(arg[0], arg[1]);
    case IND_EXPR_MOD: return ind_expr_mod(arg[0], arg[1]);
    case IND_EXPR_EQ:
    case IND_EXPR_NE:
    case IND_EXPR_LT:
    case IND_EXPR_LE: return ir__condition(kind, arg[0], arg[1]);
    case IND_EXPR_AND:
    case IND_EXPR_OR: return ir__logic(c, kind, arg, n);
    case IND_EXPR_NOT: return ind_expr_not(arg[0]);
    case IND_EXPR_WHERE: return ind_expr_where(arg[0], arg[1], arg[2]);
    default: return e;
    }
}

/* One bottom-up pass over an expression, each node once: leaf(e) replaces symbols. */
typedef struct ir__pass {
    ir__id_map *memo;
    uint64_t mask;  /* nodes without any of these symbols (Bloom) are not visited */
    uint32_t steps; /* the memo is used from IND__UNRECORDED_VISITS on */
    bool keep;      /* a node that cannot be built over its new arguments stays unchanged; else the pass fails */
    ind_expr (*leaf)(ind_expr symbol, void *user);
    void *user;
} ir__pass;

static ind_expr ir__pass_run(ir__pass *p, ind_expr e);

static ind_expr ir__pass_node(ir__pass *p, ind_expr e, int args) {
    ind_expr local[16], *arg = args <= 16 ? local : (ind_expr *)ind__alloc(e.context, (size_t)args * sizeof *arg);
    if (!arg) return ir__expr_none(e.context);
    /* a product of unchanged symbols is the same product: no rule applies to it */
    bool ok = true, same = ind_expr_query_kind(e) == IND_EXPR_MUL && ir__node_of(e)->depth == 1;
    for (int i = 0; i < args && ok; i++) {
        arg[i] = ir__pass_run(p, ind_expr_arg(e, i));
        ok = ind__ok(arg[i]);
        same = same && arg[i].id == ind_expr_arg(e, i).id;
    }
    ind_expr r = !ok ? ir__expr_none(e.context) : same ? e : ind__expr_rebuild(e, arg, args);
    if (arg != local) ind__free(e.context, arg);
    return r;
}

static ind_expr ir__pass_run(ir__pass *p, ind_expr e) {
    int args = ind_expr_num_args(e);
    if (ind_expr_symbol(e)) return p->leaf(e, p->user);
    if (!args || !(ir__node_of(e)->symbols & p->mask)) return e;
    bool written = p->steps++ >= IND__UNRECORDED_VISITS;
    uint32_t known = written ? ir__map_get(p->memo, e.id) : 0;
    if (known) return ir__expr_make(e.context, known);
    ind_expr r = ir__pass_node(p, e, args);
    if (!ind__ok(r) && p->keep) r = e;
    if (ind__ok(r) && written) ir__map_put(p->memo, e.id, r.id); /* if there is no memory, it is only slower */
    return r;
}

typedef struct ir__substitution {
    const ind_expr *from, *to;
    int num;
} ir__substitution;

static ind_expr ir__substitution_leaf(ind_expr symbol, void *user) {
    const ir__substitution *s = (const ir__substitution *)user;
    for (int i = 0; i < s->num; i++)
        if (symbol.id == s->from[i].id) return s->to[i];
    return symbol;
}

static ind_expr ir__substitute(ind_expr e, const ind_expr *from, const ind_expr *to, int n) {
    ir__substitution s = {from, to, n};
    ir__id_map memo = {.context = e.context};
    ir__pass p = {.memo = &memo, .leaf = ir__substitution_leaf, .user = &s};
    for (int i = 0; i < n; i++)
        if (ind__ok(from[i])) p.mask |= ir__node_of(from[i])->symbols;
    ind_expr r = ir__pass_run(&p, e);
    ir__map_free(&memo);
    return r;
}

/* The number of this substitution, the key of its cached results; 0: they are not cached. */
static uint32_t ir__substitution_number(struct ind__interner *in, const ind_expr *from, const ind_expr *to, int n) {
    if (n < 1 || n > IND__MAX_REPLACED || in->combining || in->dividing) return 0;
    ir__substitution_made made = {.num = (uint32_t)n};
    uint64_t hash = 0;
    for (int i = 0; i < n; i++) {
        made.pair[2 * i] = from[i].id, made.pair[2 * i + 1] = to[i].id;
        hash = (hash ^ ((uint64_t)from[i].id << 32 | to[i].id)) * 0x9e3779b97f4a7c15ull;
    }
    ir__substitution_made *known = &in->substitution[(hash >> 40) % IND__SUBSTITUTIONS];
    const size_t bytes = 2 * (size_t)n * sizeof *made.pair;
    if (known->number && known->num == made.num && !memcmp(known->pair, made.pair, bytes)) return known->number;
    if (in->num_substitutions == UINT32_MAX) return 0;
    made.number = ++in->num_substitutions;
    *known = made;
    return made.number;
}

/* Failures and overflows so far: a result is cached only if neither occurred while it was built. */
static uint64_t ir__mishaps(const ind_context *c) {
    const ind__state *s = ind__state_of(c);
    return (uint64_t)s->failures << 32 | s->overflows;
}

ind_expr ind__substitute(ind_expr e, const ind_expr *from, const ind_expr *to, int n) {
    if (!ind__ok(e)) return e;
    ind_context *c = e.context;
    const ind_expr number = {c, ir__substitution_number(c->interner, from, to, n)};
    const uint32_t key = number.id ? ir__cache_key(c, IND__CACHED_SUBSTITUTE) : 0;
    if (!key) return ir__substitute(e, from, to, n);
    const ir__op_cache_entry *had = ir__cache_slot(c, IND__CACHED_SUBSTITUTE, e, number);
    if (had->key == key && had->a == e.id && had->b == number.id) return ir__expr_make(c, had->result);
    const uint64_t before = ir__mishaps(c);
    const ind_expr r = ir__substitute(e, from, to, n);
    const ir__op_cache_entry entry = {key, e.id, number.id, r.id};
    if (ind__ok(r) && before == ir__mishaps(c)) *ir__cache_slot(c, IND__CACHED_SUBSTITUTE, e, number) = entry;
    return r;
}

/* Substitution in context c, for operands of several contexts. */
static ind_expr ir__substitute_elsewhere(ind_context *c, ind_expr e, const ind_expr *symbols, const ind_expr *values,
                                         int n) {
    ind_expr *copy = (ind_expr *)ind__alloc(c, 2 * (size_t)n * sizeof *copy);
    if (!copy) return ir__expr_none(c);
    bool ok = true;
    for (int i = 0; i < 2 * n && ok; i++) {
        copy[i] = ind__in_context(c, i < n ? symbols[i] : values[i - n]);
        ok = ind__ok(copy[i]);
    }
    e = ok ? ind__in_context(c, e) : ir__expr_none(c);
    if (ind__ok(e)) e = ind__substitute(e, copy, copy + n, n);
    ind__free(c, copy);
    return e;
}

ind_expr ind_expr_substitute(ind_expr e, const ind_expr *symbols, const ind_expr *values, int n) {
    if (!ind__ok(e)) return e;
    if (n < 0 || (n && (!symbols || !values))) return ir__expr_none(e.context);
    ind_context *c = e.context;
    for (int i = 0; i < n; i++) {
        if (!ind__ok(symbols[i]) || !ind__ok(values[i])) return ir__expr_none(e.context);
        if (!ind_expr_symbol(symbols[i])) {
            ind__fail(e.context, IND_ERROR_INVALID_ARGUMENT, "only symbols can be replaced");
            return ir__expr_none(e.context);
        }
        if (symbols[i].context != c || values[i].context != c) c = e.context->root;
    }
    return c == e.context ? ind__substitute(e, symbols, values, n) : ir__substitute_elsewhere(c, e, symbols, values, n);
}

/* The coefficient and the rest of e, both invalid if e is not affine in the symbol. */
static void ir__affine(ind_expr e, ind_expr symbol, ind_expr out[2]) {
    ind_context *c = e.context;
    ir__sum all = {.context = c}, with = {.context = c}, without = {.context = c};
    ir__sum_add(&all, e, 1);
    bool ok = !all.failed;
    for (uint32_t i = 0; ok && i < all.num; i++) {
        ir__term t = all.t[i];
        if (!ind__expr_depends(t.m, symbol)) {
            ir__sum_push(&without, t);
            continue;
        }
        t.m = ir__remove_factor(t.m, symbol);
        ok = ind__ok(t.m) && !ind__expr_depends(t.m, symbol);
        if (ok) ir__sum_push(&with, t);
    }
    ir__sum_free(&all);
    out[0] = ir__sum_finish(&with), out[1] = ir__sum_finish(&without);
    if (!ok || !ind__ok(out[0]) || !ind__ok(out[1])) out[0] = out[1] = ir__expr_none(c);
}

bool ind__affine(ind_expr e, ind_expr symbol, ind_expr *coefficient, ind_expr *rest) {
    if (!ind__ok(e) || !ind__ok(symbol)) return false;
    ind_context *c = e.context;
    const struct ind__interner *in = c->interner;
    const uint32_t kind[2] = {IND__CACHED_COEFFICIENT, IND__CACHED_REST};
    ind_expr out[2];
    bool known = !in->combining && !in->dividing;
    for (int i = 0; i < 2 && known; i++) {
        const ir__op_cache_entry *had = ir__cache_slot(c, kind[i], e, symbol);
        known = had->key && had->key == ir__cache_key(c, kind[i]) && had->a == e.id && had->b == symbol.id;
        out[i] = ir__expr_make(c, had->result);
    }
    if (!known) {
        const uint64_t before = ir__mishaps(c);
        ir__affine(e, symbol, out);
        for (int i = 0; i < 2 && !in->combining && !in->dividing && before == ir__mishaps(c); i++)
            *ir__cache_slot(c, kind[i], e, symbol) =
                (ir__op_cache_entry){ir__cache_key(c, kind[i]), e.id, symbol.id, out[i].id};
    }
    if (!ind__ok(out[0])) return false;
    if (coefficient) *coefficient = out[0];
    if (rest) *rest = out[1];
    return true;
}

ind_expr ind__linearise(ind_context *c, const ind_expr *index, const ind_expr *size, int rank) {
    ir__sum s = {.context = c};
    ind_expr stride = ind_int(c, 1);
    for (int i = rank - 1; i >= 0; i--) {
        ir__sum_add(&s, ir__mul2(index[i], stride), 1);
        if (i) stride = ir__mul2(stride, size[i]);
    }
    return ir__sum_finish(&s);
}

void ind__delinearise(ind_context *c, ind_expr linear, const ind_expr *size, int rank, ind_expr *index) {
    ind_expr stride = ind_int(c, 1), one = stride;
    for (int i = rank - 1; i >= 0; i--) {
        /* an extent that may be 0 is replaced by Max(.., 1): the loop has no points then, and the divisor only has to
           be legal */
        ind_expr at = ind_expr_floordiv(linear, ind_expr_max(stride, one));
        index[i] = i ? ind_expr_mod(at, ind_expr_max(size[i], one)) : at;
        stride = ir__mul2(stride, size[i]);
    }
}

ind_expr ind__align_up(ind_expr e, int64_t to) {
    if (!ind__ok(e) || ind_known_multiple(e, to)) return e;
    ind_expr unit = ind_int(e.context, to);
    return ir__mul2(ind_expr_ceildiv(e, unit), unit);
}

/* ============================================================================================= src/ir/expr/proofs.c */
/* ---- proofs ---- */

/* The knowledge of a fact set, besides the ranges of its symbols. All of it is in terms of symbols that are not
   replaced. Ids are expressions of the context. */
typedef struct ir__ids {
    uint32_t *id;
    uint32_t num, cap;
} ir__ids;

typedef struct ir__knowledge {
    ir__ids from, to;    /* replaced symbols and their values: no value contains a symbol of `from` */
    ir__id_map replaced; /* symbol to 1 + its position in `from` */
    uint64_t mask;       /* Bloom: the replaced symbols */
    ir__ids relation;    /* each is >= 0 */
    ir__ids nonzero;     /* each is != 0, normalised by ir__primitive */
    ir__ids residue;     /* triples (e, m, r): e % m == r */
    ir__ids condition;   /* conditions that hold and that are stored as a whole */
    ir__id_map truth;    /* condition to 1 (true) or 2 (false) */
} ir__knowledge;

struct ind_facts {
    ind__owned owned; /* must be first */
    ind_context *context;
    ir__knowledge known;
    uint32_t generation;             /* changes with `known`; no two sets share one */
    ir__ids declared, guard, symbol; /* as given; the symbols that occur in them */
    ir__id_map memo;                 /* cached results of a simplification pass under this generation */
    uint32_t memo_generation;
    bool simplifying; /* expressions being built contain no replaced symbols */
    ir__ids agenda;   /* while assuming: conditions to be learnt */
    int narrowings;   /* while assuming: remaining number of narrowings by relations */
};

static ind_facts *ir__current_facts(ind_context *c) {
    return c->interner->facts;
}

ind_facts *ind_facts_enter(ind_context *c, ind_facts *f) {
    if (!c) return NULL;
    ind_facts *before = c->interner->facts;
    if (f && f->context != c)
        ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "a fact set of another context");
    else
        c->interner->facts = f;
    return before;
}

/* A cache key: 0 without a fact set in force, else a number unique to this state of this set. Expressions built within
   a proof are proven with bounds alone, as proofs would otherwise not terminate; their key is odd. */
static uint32_t ir__facts_generation(ind_context *c) {
    return (c->interner->facts ? c->interner->facts->generation : 0) + (c->interner->proving > 0);
}

static ind_expr ir__id_at(const ind_facts *f, const ir__ids *list, uint32_t i) {
    return ir__expr_make(f->context, list->id[i]);
}

static ind_expr ir__simplify_under(ind_facts *f, ind_expr e);

/* e in terms of symbols that are not replaced. */
static ind_expr ir__resolve_replaced(ind_expr e) {
    ind_facts *f = ind__ok(e) ? ir__current_facts(e.context) : NULL;
    if (!f || f->simplifying || e.context->interner->proving || !(ir__node_of(e)->symbols & f->known.mask)) return e;
    return ir__simplify_under(f, e);
}

static ind_expr ir__resolve_extent(ind_expr extent) {
    ind_facts *f = ir__current_facts(extent.context);
    return f && ir__node_of(extent)->symbols & f->known.mask ? ir__simplify_under(f, extent) : extent;
}

/* A lower bound of a term: one loop index or modulo is replaced by the end of its range that minimises the term. q * f
   with 0 <= f <= top becomes 0 if q >= 0, and q * top if q <= 0. Each term of a sum may be bounded separately, so this
   is valid for any f. */
static bool ir__lower_term(ir__term t, bool only_modulo, ind_expr *bound) {
    for (int i = 0; i < ir__num_factors(t.m); i++) {
        ind_expr f = ir__factor_at(t.m, i), end;
        const ind_symbol *s = ind_expr_symbol(f);
        int64_t least;
        if (s && ind__ok(s->extent) && !only_modulo) {
            end = ir__resolve_extent(s->extent);
        } else if (ind_expr_query_kind(f) == IND_EXPR_MOD) {
            end = ind_expr_arg(f, 1);
            ind_expr_bounds(end, &least, NULL);
            if (least < 1) continue; /* with a negative divisor the modulo is not positive */
        } else {
            continue;
        }
        ind_expr q = ir__mul_int(ir__remove_factor(t.m, f), t.c);
        int64_t lo, hi;
        ind_expr_bounds(q, &lo, &hi);
        if (!ind__ok(q) || (lo < 0 && hi > 0)) continue;
        *bound = lo >= 0 ? ind_int(q.context, 0) : ir__mul2(q, ind_expr_sub(end, ind_int(q.context, 1)));
        return ind__ok(*bound);
    }
    return false;
}

/* e with every term replaced by its ir__lower_term; e itself if there is none. */
static ind_expr ir__lower_terms(ind_expr e, bool only_modulo) {
    ir__sum bounded = {.context = e.context};
    bool changed = false;
    for (int i = 0; i < ir__num_terms(e) && !bounded.failed; i++) {
        ind_expr t = ir__term_at(e, i), low;
        if (ind_expr_is_int(t, NULL) || !ir__lower_term(ir__term_of(t), only_modulo, &low))
            low = t;
        else
            changed = true;
        ir__sum_add(&bounded, low, 1);
    }
    if (changed) return ir__sum_finish(&bounded);
    ir__sum_free(&bounded);
    return e;
}

static bool ir__has_product(ind_expr e) {
    for (int i = 0; i < ir__num_terms(e); i++) {
        ind_expr t = ir__term_at(e, i);
        if (ir__num_factors(t) > 2 || (ir__num_factors(t) == 2 && !ind_expr_is_int(ind_expr_arg(t, 0), NULL)))
            return true;
    }
    return false;
}

/* l + s' with s' >= 0 for a symbol s with the lower bound l != 0; else the factor itself. */
static ind_expr ir__shifted(ind_expr f) {
    const ind_symbol *s = ind_expr_symbol(f);
    int64_t lo, hi;
    ind_expr_bounds(f, &lo, &hi);
    if (!s || ind__ok(s->extent) || !lo || lo == INT64_MIN) return f;
    ind_symbol moved = *s;
    moved.lo = moved.hint = 0;
    if (hi == INT64_MAX || ind__sub_overflow(hi, lo, &moved.hi)) moved.hi = INT64_MAX;
    moved.multiple_of = 1;
    moved.slot = -1 - (int)ir__node_of(f)->arg.symbol->number; /* unique: two symbols may differ in any field */
    return ind_expr_add(ind_symbol_expr(f.context, &moved), ind_int(f.context, lo));
}

/* e with every symbol in it shifted to start at 0: a polynomial without negative coefficients is then nonnegative. */
static ind_expr ir__shift_sizes(ind_expr e) {
    ir__sum s = {.context = e.context};
    for (int i = 0; i < ir__num_terms(e) && !s.failed; i++) {
        ind_expr t = ir__term_at(e, i), product = ir__shifted(ir__factor_at(t, 0));
        for (int k = 1; k < ir__num_factors(t); k++) product = ir__mul2(product, ir__shifted(ir__factor_at(t, k)));
        ir__sum_add(&s, product, 1);
    }
    return ir__sum_finish(&s);
}

/* Limits of the search. Constructors try many proofs, nearly all in vain; without relations one step must be enough. */
#define IND__PROOF_TRIES 32
#define IND__PROOF_DEPTH 3
#define IND__PROOF_TERMS 32 /* longer sums: only bounds */
#define IND__PLAIN_TERMS 6  /* the same limit without relations */

typedef struct ir__proof {
    ind_facts *facts; /* may be NULL */
    int tries;
} ir__proof;

static bool ir__prove(ir__proof *p, ind_expr e, int depth);

/* e with the factor f of its term q * f replaced by value: e - q * f + q * value. */
static ind_expr ir__exchange(ind_expr e, ind_expr q, ind_expr f, ind_expr value) {
    return ind_expr_add(ind_expr_sub(e, ir__mul2(q, f)), ir__mul2(q, value));
}

/* q * Min(a, b, ..) is one of q * a, q * b, ..: e >= 0 if it holds with each of them substituted. With q <= 0 one of
   them is enough, as Min(a, b) <= a; the same for Max with q >= 0. */
static bool ir__prove_lattice(ir__proof *p, ind_expr e, ind_expr q, ind_expr f, int depth) {
    int64_t lo, hi;
    ind_expr_bounds(q, &lo, &hi);
    bool any = ind_expr_query_kind(f) == IND_EXPR_MIN ? hi <= 0 : lo >= 0;
    for (int i = 0; i < ind_expr_num_args(f); i++)
        if (ir__prove(p, ir__exchange(e, q, f, ind_expr_arg(f, i)), depth) == any) return any;
    return !any;
}

/* For b > 0: x - b + 1 <= b * (x // b) <= x. So a term q * (x // b) with q = b * j is bounded by j * (x - b + 1) or j *
   x. For any other q, b*e is bounded this way: e >= 0 if b*e > -b. */
static bool ir__prove_quotient(ir__proof *p, ind_expr e, ind_expr q, ind_expr f, int depth) {
    ind_context *c = e.context;
    ind_expr x = ind_expr_arg(f, 0), b = ind_expr_arg(f, 1), one = ind_int(c, 1);
    int64_t lo, hi, least;
    ind_expr_bounds(q, &lo, &hi);
    ind_expr_bounds(b, &least, NULL);
    if ((lo < 0 && hi > 0) || (least < 1 && ir__proven_sign(b) != 1)) return false;
    ind_expr bound = lo >= 0 ? ind_expr_add(ind_expr_sub(x, b), one) : x, rest = ind_expr_sub(e, ir__mul2(q, f));
    ir__term j;
    if (ir__num_terms(q) == 1 && ir__num_terms(b) == 1 && ir__term_divide(ir__term_of(q), ir__term_of(b), &j))
        return ir__prove(p, ind_expr_add(rest, ir__mul2(ir__term_expr(j), bound)), depth);
    ind_expr scaled = ind_expr_add(ir__mul2(b, rest), ir__mul2(q, bound));
    return ir__prove(p, ind_expr_add(scaled, ind_expr_sub(b, one)), depth);
}

/* x % m <= x for x >= 0 and m > 0. */
static bool ir__prove_modulo(ir__proof *p, ind_expr e, ind_expr q, ind_expr f, int depth) {
    int64_t hi, lo, least;
    ind_expr_bounds(q, NULL, &hi);
    ind_expr_bounds(ind_expr_arg(f, 0), &lo, NULL);
    ind_expr_bounds(ind_expr_arg(f, 1), &least, NULL);
    return hi <= 0 && lo >= 0 && least > 0 && ir__prove(p, ir__exchange(e, q, f, ind_expr_arg(f, 0)), depth);
}

/* True if a term other than the i-th has symbols of this set. */
static bool ir__others_share(ind_expr e, int i, uint32_t symbols) {
    for (int k = 0; k < ir__num_terms(e); k++)
        if (k != i && ir__node_of(ir__term_at(e, k))->symbols & symbols) return true;
    return false;
}

/* Replacing a factor is better than its bounds only if something cancels, which requires a common symbol. Exception: a
   quotient by a symbol multiplies the other terms by its divisor. */
static bool ir__prove_factors(ir__proof *p, ind_expr e, int depth) {
    for (int i = 0; i < ir__num_terms(e); i++) {
        ind_expr t = ir__term_at(e, i);
        for (int k = 0; k < ir__num_factors(t); k++) {
            ind_expr f = ir__factor_at(t, k);
            ind_expr_kind kind = ind_expr_query_kind(f);
            bool lattice = kind == IND_EXPR_MIN || kind == IND_EXPR_MAX;
            if (!lattice && kind != IND_EXPR_FLOORDIV && kind != IND_EXPR_MOD) continue;
            bool scales = kind == IND_EXPR_FLOORDIV && !ind_expr_is_int(ind_expr_arg(f, 1), NULL);
            if (!p->facts && !scales && !ir__others_share(e, i, ir__node_of(f)->symbols)) continue;
            ind_expr q = ir__remove_factor(t, f);
            if (!ind__ok(q)) continue;
            if (lattice                     ? ir__prove_lattice(p, e, q, f, depth)
                : kind == IND_EXPR_FLOORDIV ? ir__prove_quotient(p, e, q, f, depth)
                                            : ir__prove_modulo(p, e, q, f, depth))
                return true;
        }
    }
    return false;
}

/* Combines e with a relation r >= 0. For a term c*k*m of e and a term d*m of r, with c and d of one sign and k >= 0,
   the terms cancel in |d|*e - |c|*k*r =: w, and |d|*e >= w. So w > -|d| gives e > -1. */
static bool ir__prove_by_term(ir__proof *p, ind_expr e, ir__term t, ind_expr r, ir__term u, int depth) {
    ind_context *c = e.context;
    ir__term unit = {1, u.m, 0}, k;
    if ((t.c < 0) != (u.c < 0) || ind_expr_query_kind(u.m) == IND_EXPR_INT) return false;
    if (!ir__term_divide((ir__term){1, t.m, 0}, unit, &k)) return false;
    int64_t least, g = ir__gcd64(t.c, u.c);
    ind_expr_bounds(k.m, &least, NULL);
    if (least < 0 || t.c == INT64_MIN || u.c == INT64_MIN || g < 1) return false;
    int64_t d = (u.c < 0 ? -u.c : u.c) / g, by = (t.c < 0 ? -t.c : t.c) / g;
    ind_expr w = ind_expr_sub(ir__mul2(ind_int(c, d), e), ir__mul2(ir__mul2(ind_int(c, by), k.m), r));
    return ir__prove(p, ind_expr_add(w, ind_int(c, d - 1)), depth);
}

/* Negative terms first, as they keep the bound of e negative. */
static bool ir__prove_by_relations(ir__proof *p, ind_expr e, bool negative, int depth) {
    const ir__ids *list = &p->facts->known.relation;
    for (int i = 0; i < ir__num_terms(e); i++) {
        ir__term t = ir__term_of(ir__term_at(e, i));
        if (!ind__ok(t.m) || (t.c < 0) != negative || ind_expr_is_int(t.m, NULL)) continue;
        const uint32_t mask = ir__node_of(t.m)->symbols;
        for (uint32_t j = 0; j < list->num && p->tries > 0; j++) {
            ind_expr r = ir__id_at(p->facts, list, j);
            if (!(ir__node_of(r)->symbols & mask)) continue;
            for (int k = 0; k < ir__num_terms(r) && k < IND__PROOF_TERMS; k++) {
                ind_expr u = ir__term_at(r, k);
                if (ir__node_of(u)->symbols & ~mask || ind_expr_is_int(u, NULL)) continue; /* not a divisor of t */
                if (ir__prove_by_term(p, e, t, r, ir__term_of(u), depth)) return true;
            }
        }
    }
    return false;
}

/* g*x + k with the largest g > 0 becomes x + k // g, which has the same sign and smaller numbers. So less is lost when
   a quotient in it is replaced by its bound. */
static ind_expr ir__without_content(ind_expr e) {
    int64_t g = 0;
    for (int i = 0; i < ir__num_terms(e); i++) {
        ind_expr t = ir__term_at(e, i);
        if (!ind_expr_is_int(t, NULL)) g = ir__gcd64(g, ir__term_of(t).c);
    }
    return g > 1 ? ind_expr_floordiv(e, ind_int(e.context, g)) : e;
}

/* A quotient by a positive number is nonnegative if its numerator is. */
static ind_expr ir__without_divisors(ind_expr e) {
    int64_t least;
    while (ind__ok(e) && ind_expr_query_kind(e) == IND_EXPR_FLOORDIV) {
        ind_expr_bounds(ind_expr_arg(e, 1), &least, NULL);
        if (least < 1) break;
        e = ind_expr_arg(e, 0);
    }
    return e;
}

/* Proves e >= 0. Every step replaces e by an expression that is never larger, or by a positive multiple of it. */
static bool ir__prove(ir__proof *p, ind_expr e, int depth) {
    int64_t lo, hi;
    e = ir__without_divisors(e);
    if (!ind__ok(e)) return false;
    ind_expr_bounds(e, &lo, &hi);
    if (lo >= 0) return true;
    if (hi < 0 || p->tries <= 0) return false;
    p->tries--;
    ind_expr low = e;
    for (int iteration = 0; iteration < 8; iteration++) {
        /* Modulos first: their upper end has the divisor, in which a loop index of another term may cancel. */
        ind_expr next = ir__lower_terms(low, true);
        if (ind__ok(next) && next.id == low.id) next = ir__lower_terms(low, false);
        if (!ind__ok(next) || next.id == low.id) break;
        low = next;
        ind_expr_bounds(low, &lo, NULL);
        if (lo >= 0) return true;
    }
    if (ir__num_terms(low) <= IND__PROOF_TERMS && ir__has_product(low)) {
        ind_expr shifted = ir__shift_sizes(low);
        ind_expr_bounds(shifted, &lo, NULL);
        if (ind__ok(shifted) && lo >= 0) return true;
    }
    bool relations = p->facts && p->facts->known.relation.num;
    if (!depth || ir__num_terms(e) > (relations ? IND__PROOF_TERMS : IND__PLAIN_TERMS)) return false;
    if (ir__prove_factors(p, ir__without_content(e), depth - 1)) return true;
    if (!relations) return false;
    if (low.id != e.id && ir__prove_by_relations(p, low, true, depth - 1)) return true;
    return ir__prove_by_relations(p, e, true, depth - 1) || ir__prove_by_relations(p, e, false, depth - 1);
}

/* The cache slot of the value of node `id` at this point. */
static ir__sample *ir__sample_slot(struct ind__interner *in, uint32_t id, unsigned point) {
    return &in->sample[(id * 2654435761u + point * 40503u) % IND__SAMPLES];
}

static bool ir__sample_node(ind_expr e, unsigned point, int64_t *out);

/* The value of a symbol at a sample point. Sizes have their least value (bit 0: largest), loop indices their first (bit
   1: last). Bit 2 flips both for every other name, so that unrelated sizes differ. */
static bool ir__sample_symbol(const ind_symbol *s, unsigned point, int64_t *out) {
    const unsigned own = point & 4 && s->name[strlen(s->name) - 1] & 1 ? point ^ 3 : point;
    if (ind__ok(s->extent)) {
        if (!ir__sample_node(s->extent, point, out) || *out < 1) return false;
        *out = own & 2 ? *out - 1 : 0;
        return true;
    }
    const int64_t reach = (int64_t)1 << 20; /* used if unbounded */
    int64_t lo = s->lo > INT64_MIN ? s->lo : s->hi < -reach ? ir__sat_add(s->hi, -reach) : -reach, hi = s->hi;
    if (hi == INT64_MAX) hi = lo < INT64_MAX - reach ? lo + reach : lo;
    int64_t v = own & 1 ? hi : lo, m = s->multiple_of;
    v -= v % m; /* towards 0 */
    if (v < s->lo && ind__add_overflow(v, m, &v)) return false;
    if (v > s->hi && ind__sub_overflow(v, m, &v)) return false;
    *out = v;
    return v >= s->lo && v <= s->hi;
}

static bool ir__sample_args(ind_expr e, unsigned point, int64_t *out) {
    const ind_expr_kind kind = ind_expr_query_kind(e);
    const bool chain = ir__is_chain(kind);
    int64_t v[3] = {0};
    for (int i = 0; i < ind_expr_num_args(e); i++) {
        int64_t *slot = &v[chain ? i > 0 : i];
        if (!ir__sample_node(ind_expr_arg(e, i), point, slot)) return false;
        if (chain && i && ir__apply(e.context, kind, v[0], v[1], 0, &v[0])) return false;
    }
    *out = v[0];
    return chain || !ir__apply(e.context, kind, v[0], v[1], v[2], out);
}

/* The value of e at a sample point; false if it has none there. Cached, as a growing expression has the same parts
   again. */
static bool ir__sample_node(ind_expr e, unsigned point, int64_t *out) {
    if (ind_expr_is_int(e, out)) return true;
    ir__sample *slot = ir__sample_slot(e.context->interner, e.id, point);
    if (slot->id != e.id || slot->point != point) {
        const ind_symbol *s = ind_expr_symbol(e);
        ir__sample fresh = {.id = e.id, .point = (uint16_t)point};
        fresh.valid = s ? ir__sample_symbol(s, point, &fresh.value) : ir__sample_args(e, point, &fresh.value);
        *slot = fresh;
    }
    *out = slot->value;
    return slot->valid;
}

/* True if e is negative at some point: then no proof of e >= 0 is attempted. Not used under relations between symbols,
   which the points ignore. */
static bool ir__refuted(ind_expr e) {
    for (unsigned point = 0; point < 8; point++) {
        int64_t v;
        if (ir__sample_node(e, point, &v) && v < 0) return true;
    }
    return false;
}

/* Tries to prove e >= 0. A failed proof, including an overflow in it, records no error. */
static bool ir__prove_ge0(ind_expr e) {
    if (!ind__ok(e)) return false;
    int64_t lo, hi;
    ind_expr_bounds(e, &lo, &hi);
    if (lo >= 0 || hi < 0) return lo >= 0;
    ind_context *c = e.context;
    bool nested = c->interner->proving > 0;
    ind_facts *f = nested ? NULL : ir__current_facts(c);
    ind__state_of(c)->quiet++;
    if (!ir__current_facts(c) && ir__refuted(e)) {
        ind__state_of(c)->quiet--;
        return false;
    }
    if (!nested) e = ir__resolve_replaced(e);
    c->interner->proving++;
    ir__proof p = {f, IND__PROOF_TRIES};
    bool proven = ir__prove(&p, e, nested ? 0 : f && f->known.relation.num ? IND__PROOF_DEPTH : 1);
    c->interner->proving--;
    ind__state_of(c)->quiet--;
    return proven;
}

/* Proves a + by <= b, with by 0 or 1. The same few sizes are compared many times, so answers are cached like results of
   operations. An answer after a failure (no memory) is not cached, as it may differ next time. */
static bool ir__known_below(ind_expr a, ind_expr b, int by) {
    if (!ir__both_ok(&a, &b)) return false;
    if (a.id == b.id) return by <= 0;
    ind_context *c = a.context;
    const uint32_t failures = ind__state_of(c)->failures, kind = IND__CACHED_BELOW + (uint32_t)by;
    const uint32_t key = c->interner->combining ? 0 : ir__cache_key(c, kind);
    const ir__op_cache_entry *had = ir__cache_slot(c, kind, a, b);
    if (key && had->key == key && had->a == a.id && had->b == b.id) return had->result;
    ind__state_of(c)->quiet++;
    bool below = ir__prove_ge0(ind_expr_sub(ind_expr_sub(b, a), ind_int(c, by)));
    ind__state_of(c)->quiet--;
    ir__op_cache_entry entry = {key, a.id, b.id, below};
    if (key && failures == ind__state_of(c)->failures) *ir__cache_slot(c, kind, a, b) = entry;
    return below;
}

static bool ir__in_range(ind_expr e, ind_expr below) {
    int64_t lo, hi, least;
    ind_expr_bounds(e, &lo, &hi);
    ind_expr_bounds(below, &least, NULL);
    if (lo >= 0 && hi < least) return true;
    if (hi < 0) return false;
    return (lo >= 0 || ir__prove_ge0(e)) && ir__known_below(e, below, 1);
}

bool ind_known_true(ind_expr condition) {
    if (!ind__ok(condition)) return false;
    int64_t lo, hi;
    ind_expr_bounds(condition, &lo, &hi);
    if (lo > 0 || hi < 0 || !ir__current_facts(condition.context)) return lo > 0 || hi < 0;
    return ind_known(ir__current_facts(condition.context), condition);
}

/* 5 - Min(5, n) and Max(0, 5 - n) are two nodes, as integers stay in the sum, but their difference simplifies to 0. */
static bool ir__no_difference(ind_expr a, ind_expr b) {
    int64_t d;
    if (ir__node_of(a)->symbols != ir__node_of(b)->symbols) return false;
    ind__state_of(a.context)->quiet++;
    const bool zero = ind_expr_is_int(ind_expr_sub(a, b), &d) && !d;
    ind__state_of(a.context)->quiet--;
    return zero;
}

bool ind_known_eq(ind_expr a, ind_expr b) {
    if (!ir__both_ok(&a, &b)) return false;
    if (a.id == b.id) return true;
    if (!ir__current_facts(a.context)) return ir__no_difference(a, b);
    return ir__known_below(a, b, 0) && ir__known_below(b, a, 0);
}

bool ind_known_le(ind_expr a, ind_expr b) {
    return ir__known_below(a, b, 0);
}

bool ind_known_lt(ind_expr a, ind_expr b) {
    return ir__known_below(a, b, 1);
}

/* ---- divisors and residues ---- */

/* The largest integer that divides e, as far as its structure and the residues in force prove. */
typedef struct ir__divisor {
    ir__traversal visits; /* id to 1 + position in done */
    int64_t *done;
    uint32_t num_done, cap_done;
    uint32_t limit; /* nodes visited; further nodes count as divisor 1 */
    ind_facts *facts;
} ir__divisor;

static int64_t ir__known_factor(ir__divisor *w, ind_expr e);

/* The lcm, or a if it exceeds 64 bits. */
static int64_t ir__lcm64(int64_t a, int64_t b) {
    int64_t g = ir__gcd64(a, b), r;
    return !g || ind__mul_overflow(a / g, b, &r) ? a : r;
}

static int64_t ir__factor_of_kind(ir__divisor *w, ind_expr e) {
    const ir__expr_node *n = ir__node_of(e);
    int64_t g = 0, wider;
    switch (n->kind) {
    case IND_EXPR_MUL:
        g = 1;
        for (int i = 0; i < ind_expr_num_args(e); i++)
            if (!ind__mul_overflow(g, ir__known_factor(w, ind_expr_arg(e, i)), &wider)) g = wider;
        return g;
    case IND_EXPR_ADD:
    case IND_EXPR_MOD: /* x % m = x - m * (x // m) */
    case IND_EXPR_MIN:
    case IND_EXPR_MAX:
        for (int i = 0; i < ind_expr_num_args(e) && g != 1; i++)
            g = ir__gcd64(g, ir__known_factor(w, ind_expr_arg(e, i)));
        return g;
    case IND_EXPR_WHERE:
        return ir__gcd64(ir__known_factor(w, ind_expr_arg(e, 1)), ir__known_factor(w, ind_expr_arg(e, 2)));
    case IND_EXPR_FLOORDIV: /* an exact quotient leaves the rest of the factor */
        if (!ind_expr_is_int(ind_expr_arg(e, 1), &wider) || ind_expr_query_kind(ind_expr_arg(e, 0)) == IND_EXPR_ADD)
            return 1; /* a sum would need a traversal of its whole subtree */
        g = ir__known_factor(w, ind_expr_arg(e, 0));
        return g % wider ? 1 : g / wider;
    default: return 1;
    }
}

static int64_t ir__known_factor(ir__divisor *w, ind_expr e) {
    int64_t v;
    if (ind_expr_is_int(e, &v)) return v == INT64_MIN ? 1 : v < 0 ? -v : v;
    if (ind_expr_symbol(e)) {
        v = ind_expr_symbol(e)->multiple_of;
    } else {
        bool written = w->visits.steps++ >= IND__UNRECORDED_VISITS;
        if (w->visits.steps > w->limit) return 1;
        w->visits.seen.context = e.context;
        uint32_t known = written ? ir__map_get(&w->visits.seen, e.id) : 0;
        if (known) return w->done[known - 1];
        v = ir__factor_of_kind(w, e);
        int64_t *slot = written ? IND__PUSH(e.context, int64_t, w->done, w->num_done, w->cap_done) : NULL;
        if (slot && ir__map_put(&w->visits.seen, e.id, w->num_done)) *slot = v;
    }
    const ir__ids *list = w->facts ? &w->facts->known.residue : NULL;
    for (uint32_t i = 0; list && i < list->num; i += 3) { /* e % m == 0 */
        int64_t m, r;
        if (list->id[i] == e.id && ind_expr_is_int(ir__id_at(w->facts, list, i + 1), &m) &&
            ind_expr_is_int(ir__id_at(w->facts, list, i + 2), &r) && !r)
            v = ir__lcm64(v, m);
    }
    return v;
}

/* A divisor g of m > 0 such that e is r modulo g; returns g. Independent of facts. */
static int64_t ir__structural_residue(ind_expr e, int64_t m, int64_t *r) {
    int64_t g = m, k = 0;
    for (int i = 0; i < ir__num_terms(e) && g > 1; i++) {
        ir__divisor w = {.limit = IND__UNRECORDED_VISITS};
        ind_expr t = ir__term_at(e, i);
        if (!ind_expr_is_int(t, &k)) g = ir__gcd64(g, ir__known_factor(&w, t));
    }
    *r = ir__floor_mod(k, g);
    return g;
}

/* The divisor of an expression without replaced symbols, with the node limit of constructors. */
static int64_t ir__plain_divisor(ind_expr e) {
    ir__divisor w = {.limit = IND__UNRECORDED_VISITS, .facts = ir__current_facts(e.context)};
    return ir__known_factor(&w, e);
}

int64_t ind_known_divisor(ind_expr e) {
    if (!ind__ok(e)) return 1;
    ind__state_of(e.context)->quiet++;
    e = ir__resolve_replaced(e);
    ir__divisor w = {.limit = UINT32_MAX, .facts = ir__current_facts(e.context)};
    int64_t g = ir__known_factor(&w, e);
    ir__map_free(&w.visits.seen);
    ind__free(e.context, w.done);
    ind__state_of(e.context)->quiet--;
    return g;
}

bool ind_known_multiple(ind_expr e, int64_t of) {
    return ind__ok(e) && of && ind_known_divisor(e) % of == 0;
}

/* Residue of a term c * m modulo d: 0 if d divides it, c * r if m % d == r is a fact. */
static bool ir__term_residue(ind_facts *f, ir__term t, int64_t d, int64_t *r) {
    int64_t factor = ir__plain_divisor(t.m), c = t.c % d, modulus, value;
    *r = 0;
    if (ind__mul_overflow(c, factor % d, &value)) return false;
    if (value % d == 0) return true;
    const ir__ids *list = f ? &f->known.residue : NULL;
    for (uint32_t i = 0; list && i < list->num; i += 3) {
        if (list->id[i] != t.m.id || !ind_expr_is_int(ir__id_at(f, list, i + 1), &modulus)) continue;
        if (!ind_expr_is_int(ir__id_at(f, list, i + 2), &value) || ind__mul_overflow(c, modulus, &modulus)) continue;
        if (modulus % d || ind__mul_overflow(c, value, &value)) continue;
        *r = ir__floor_mod(value, d);
        return true;
    }
    return false;
}

/* Residues of the terms add up. */
static bool ir__sum_residue(ind_facts *f, ind_expr e, int64_t d, int64_t *r) {
    *r = 0;
    for (int i = 0; i < ir__num_terms(e); i++) {
        ir__term t = ir__term_of(ir__term_at(e, i));
        int64_t part;
        if (ind_expr_is_int(t.m, NULL))
            part = ir__floor_mod(t.c, d);
        else if (!ir__term_residue(f, t, d, &part))
            return false;
        *r = part >= d - *r ? part - (d - *r) : *r + part;
    }
    return true;
}

static bool ir__int_residue(ind_facts *f, ind_expr e, int64_t d, int64_t *r) {
    if (ir__sum_residue(f, e, d, r)) return true;
    const ir__ids *list = f ? &f->known.residue : NULL;
    for (uint32_t i = 0, tries = 0; list && i < list->num && tries < 8;
         i += 3) { /* e = x + rest with x % m == r a fact */
        ind_expr x = ir__id_at(f, list, i);
        int64_t m, value, rest;
        if (ind_expr_query_kind(x) != IND_EXPR_ADD || !(ir__node_of(x)->symbols & ir__node_of(e)->symbols)) continue;
        if (!ind_expr_is_int(ir__id_at(f, list, i + 1), &m) || m % d) continue;
        if (!ind_expr_is_int(ir__id_at(f, list, i + 2), &value)) continue;
        tries++;
        ind_expr less = ind_expr_sub(e, x);
        if (!ind__ok(less) || !ir__sum_residue(f, less, d, &rest)) continue;
        value = ir__floor_mod(value, d);
        *r = value >= d - rest ? value - (d - rest) : rest + value;
        return true;
    }
    return false;
}

/* True if e % m is known from the multiples of symbols and the facts in force; *r is its value. */
static bool ir__known_residue(ind_expr e, ind_expr m, ind_expr *r) {
    if (!ind__ok(e) || !ind__ok(m) || e.context->interner->proving) return false;
    ind_context *c = e.context;
    ind_facts *f = ir__current_facts(c);
    for (uint32_t i = 0; f && i < f->known.residue.num; i += 3)
        if (f->known.residue.id[i] == e.id && f->known.residue.id[i + 1] == m.id)
            return *r = ir__id_at(f, &f->known.residue, i + 2), true;
    int64_t d, value;
    if (!ind_expr_is_int(m, &d) || d < 1) return false;
    c->interner->proving++; /* the differences built here may have quotients, which would recurse */
    ind__state_of(c)->quiet++;
    bool known = ir__int_residue(f, e, d, &value);
    ind__state_of(c)->quiet--;
    c->interner->proving--;
    if (known) *r = ind_int(c, value);
    return known && ind__ok(*r);
}

/* ---- signs and conditions ---- */

/* e without its common integer factor and with a positive last coefficient: the same for e, -e, 2*e, .. */
static ind_expr ir__primitive(ind_expr e) {
    int64_t g = 0;
    for (int i = 0; i < ir__num_terms(e); i++) g = ir__gcd64(g, ir__term_of(ir__term_at(e, i)).c);
    if (g < 1) return e;
    if (ir__term_of(ir__term_at(e, ir__num_terms(e) - 1)).c < 0) g = -g;
    if (g == 1) return e;
    ir__sum s = {.context = e.context};
    for (int i = 0; i < ir__num_terms(e); i++) {
        ir__term t = ir__term_of(ir__term_at(e, i));
        if (t.c == INT64_MIN && g == -1) s.failed = true;
        if (!s.failed) t.c /= g;
        ir__sum_push(&s, t);
    }
    ind_expr r = ir__sum_finish(&s);
    return ind__ok(r) ? r : e;
}

/* c0 + multiples of g with g not dividing c0 is never 0. */
static bool ir__sum_avoids_zero(ind_expr e) {
    int64_t g = 0, c0 = 0;
    for (int i = 0; i < ir__num_terms(e) && g != 1; i++) {
        ind_expr t = ir__term_at(e, i);
        if (!ind_expr_is_int(t, &c0)) g = ir__gcd64(g, ind_known_divisor(t));
    }
    return g > 1 && c0 % g;
}

static bool ir__listed_nonzero(ind_facts *f, ind_expr e) {
    if (!f->known.nonzero.num) return false;
    ind_expr p = ir__primitive(e);
    for (uint32_t i = 0; i < f->known.nonzero.num; i++)
        if (f->known.nonzero.id[i] == p.id) return true;
    return false;
}

/* Factors a sum into the monomial common to all its terms and the rest; invalid if they share no symbol. */
static ind_expr ir__split_common(ind_expr e, ind_expr *common) {
    ind_context *c = e.context;
    if (ind_expr_query_kind(e) != IND_EXPR_ADD || ir__num_terms(e) > IND__PROOF_TERMS) return ir__expr_none(c);
    ir__term g = ir__term_of(ir__term_at(e, 0));
    for (int i = 1; i < ir__num_terms(e) && ind__ok(g.m) && !ir__is_const_term(g); i++)
        g = ir__term_gcd(ir__term_of(ir__term_at(e, i)), g);
    if (!ind__ok(g.m) || ir__is_const_term(g)) return ir__expr_none(c);
    g.c = 1;
    ir__sum s = {.context = c};
    for (int i = 0; i < ir__num_terms(e); i++) {
        ir__term q;
        if (!ir__term_divide(ir__term_of(ir__term_at(e, i)), g, &q)) s.failed = true;
        ir__sum_push(&s, q);
    }
    *common = g.m;
    return ir__sum_finish(&s);
}

/* True if e is proven nonzero everywhere. */
static bool ir__known_nonzero(ind_expr e) {
    if (!ind__ok(e)) return false;
    int64_t lo, hi;
    ind__state_of(e.context)->quiet++;
    e = ir__resolve_replaced(e);
    ind_expr_bounds(e, &lo, &hi);
    bool never = lo > 0 || hi < 0 || ir__sum_avoids_zero(e);
    if (!never && ind_expr_query_kind(e) == IND_EXPR_MUL) {
        never = true;
        for (int i = 0; i < ind_expr_num_args(e) && never; i++) never = ir__known_nonzero(ind_expr_arg(e, i));
    }
    ind_facts *f = ir__current_facts(e.context);
    never = never || (f && ir__listed_nonzero(f, e));
    ind_expr common, less = never ? ir__expr_none(e.context) : ir__split_common(e, &common);
    never = never || (ind__ok(less) && ir__known_nonzero(common) && ir__known_nonzero(less));
    ind__state_of(e.context)->quiet--;
    return never;
}

/* The sign of a divisor: 1 (> 0 everywhere), -1 (< 0), 2 (never zero, sign unknown), 0 (may be zero). */
static int ir__proven_sign(ind_expr b) {
    int64_t lo, hi;
    ind_expr_bounds(b, &lo, &hi);
    if (lo > 0 || hi < 0) return lo > 0 ? 1 : -1;
    ind_expr one = ind_int(b.context, 1), zero = ind_int(b.context, 0);
    if (hi > 0 && ir__known_below(one, b, 0)) return 1;
    if (lo < 0 && ir__known_below(b, zero, 1)) return -1;
    if (!ir__known_nonzero(b)) return 0;
    if (ir__known_below(zero, b, 0)) return 1;
    if (ir__known_below(b, zero, 0)) return -1;
    ind_expr common, less = ir__split_common(b, &common);
    int x = ind__ok(less) ? ir__proven_sign(common) : 2, y = ind__ok(less) ? ir__proven_sign(less) : 2;
    return x * y == 1 || x * y == -1 ? x * y : 2;
}

/* 1 or 0 if the facts in force contain the condition in this form as true or false, else -1. */
static int ir__known_condition(ind_expr condition) {
    ind_facts *f = ir__current_facts(condition.context);
    uint32_t truth = f ? ir__map_get(&f->known.truth, condition.id) : 0;
    return truth ? truth == 1 : -1;
}

/* ============================================================================================= src/ir/expr/assume.c */
/* ------------------------------------------------------------------------------------------------ >>assume */

/* Fact sets. Assuming a condition works on a copy of the known facts, with an agenda of conditions. Each condition is
   simplified under the facts known so far, then learnt. Learning may add conditions to the agenda: parts, consequences,
   and the facts about a symbol that was just replaced, which are removed and learnt again. At the end the copy replaces
   the original or is discarded. */

static bool ir__ids_push(ind_context *c, ir__ids *list, uint32_t id) {
    uint32_t *slot = IND__PUSH(c, uint32_t, list->id, list->num, list->cap);
    if (slot) *slot = id;
    return slot != NULL;
}

static bool ir__ids_copy(ind_context *c, ir__ids *to, const ir__ids *from) {
    ir__ids none = {0};
    *to = none;
    if (!from->num) return true;
    if (!ind__grow(c, (void **)&to->id, &to->num, &to->cap, sizeof *to->id, from->num)) return false;
    memcpy(to->id, from->id, from->num * sizeof *from->id);
    return true;
}

static bool ir__ids_has(const ir__ids *list, uint32_t id) {
    for (uint32_t i = 0; i < list->num; i++)
        if (list->id[i] == id) return true;
    return false;
}

static void ir__knowledge_free(ind_context *c, ir__knowledge *k) {
    ir__ids *const list[] = {&k->from, &k->to, &k->relation, &k->nonzero, &k->residue, &k->condition};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) ind__free(c, list[i]->id);
    ir__map_free(&k->replaced);
    ir__map_free(&k->truth);
}

/* `to` can be freed on success and on failure. */
static bool ir__knowledge_copy(ind_context *c, ir__knowledge *to, const ir__knowledge *from) {
    ir__knowledge fresh = {.mask = from->mask, .replaced = {.context = c}, .truth = {.context = c}};
    *to = fresh;
    return ir__ids_copy(c, &to->from, &from->from) && ir__ids_copy(c, &to->to, &from->to) &&
           ir__ids_copy(c, &to->relation, &from->relation) && ir__ids_copy(c, &to->nonzero, &from->nonzero) &&
           ir__ids_copy(c, &to->residue, &from->residue) && ir__ids_copy(c, &to->condition, &from->condition) &&
           ir__map_copy(&to->replaced, &from->replaced) && ir__map_copy(&to->truth, &from->truth);
}

/* Changes the generation: results cached under the old one are not found again. */
static void ir__facts_changed(ind_facts *f) {
    uint32_t *last = &f->context->interner->num_generations;
    f->generation = *last += *last == UINT32_MAX - 1 ? 4 : 2; /* skips 0, which means no set */
}

static void ir__facts_clear(ind_facts *f) {
    ind_context *c = f->context;
    ir__knowledge_free(c, &f->known);
    ind__free(c, f->declared.id);
    ind__free(c, f->guard.id);
    ind__free(c, f->symbol.id);
    ind__free(c, f->agenda.id);
    ir__map_free(&f->memo);
}

static void ir__facts_init(ind_facts *f, ind_context *c) {
    memset(f, 0, sizeof *f);
    f->context = f->memo.context = f->known.replaced.context = f->known.truth.context = c;
    ir__facts_changed(f);
}

static void ir__facts_free(ind__owned *o) {
    ind_facts *f = (ind_facts *)o;
    if (f->context->interner->facts == f) f->context->interner->facts = NULL;
    ir__facts_clear(f);
    ind__free(f->context, f);
}

ind_status ind_facts_create(ind_context *context, ind_facts **facts) {
    if (facts) *facts = NULL;
    if (!context || !facts) return IND_ERROR_INVALID_ARGUMENT;
    ind_facts *f = (ind_facts *)ind__alloc(context, sizeof *f);
    if (!f) return IND_ERROR_OUT_OF_MEMORY;
    ir__facts_init(f, context);
    ind__own(context, &f->owned, ir__facts_free);
    *facts = f;
    return IND_OK;
}

void ind_facts_destroy(ind_facts *f) {
    if (!f) return;
    if (ir__current_facts(f->context) == f) f->context->interner->facts = NULL;
    ind__disown(f->context, &f->owned);
    ir__facts_free(&f->owned);
}

/* ---- simplification under a fact set ---- */

#define IND__MAX_PASSES 8
#define IND__MEMO_LIMIT (1u << 18) /* entries kept between calls */

static ind_expr ir__facts_leaf(ind_expr symbol, void *user) {
    const ind_facts *f = (const ind_facts *)user;
    uint32_t at = f ? ir__map_get(&f->known.replaced, symbol.id) : 0;
    return at ? ir__id_at(f, &f->known.to, at - 1) : symbol;
}

/* Runs passes until nothing changes. A node that cannot be rebuilt over its simplified arguments (an intermediate
   overflow) stays unchanged, which is equally correct. */
static ind_expr ir__passes(ind_facts *f, ir__id_map *memo, ind_expr e) {
    ir__pass p = {
        .memo = memo, .mask = ~0ull, .steps = IND__UNRECORDED_VISITS, .keep = true, .leaf = ir__facts_leaf, .user = f};
    ind__state_of(e.context)->quiet++;
    for (int i = 0; i < IND__MAX_PASSES; i++) {
        ind_expr next = ir__pass_run(&p, e);
        if (next.id == e.id) break;
        e = next;
    }
    ind__state_of(e.context)->quiet--;
    return e;
}

/* Simplifies e under f, which must be in force. */
static ind_expr ir__simplify_under(ind_facts *f, ind_expr e) {
    if (f->memo_generation != f->generation || f->memo.num > IND__MEMO_LIMIT) {
        if (f->memo.num) ir__map_free(&f->memo);
        f->memo_generation = f->generation;
    }
    bool outer = f->simplifying;
    f->simplifying = true;
    e = ir__passes(f, &f->memo, e);
    f->simplifying = outer;
    return e;
}

ind_expr ind_simplify(ind_facts *facts, ind_expr e) {
    if (!ind__ok(e)) return e;
    if (facts) e = ind__in_context(facts->context, e);
    if (!ind__ok(e)) return e;
    ind_context *c = e.context;
    uint32_t failures = ind__state_of(c)->failures;
    ind_facts *before = ind_facts_enter(c, facts);
    if (facts) {
        e = ir__simplify_under(facts, e);
    } else {
        ir__id_map memo = {.context = c};
        e = ir__passes(NULL, &memo, e);
        ir__map_free(&memo);
    }
    ind_facts_enter(c, before);
    if (failures == ind__state_of(c)->failures) return e;
    if (facts) ir__facts_changed(facts); /* drops cached results: without memory they may not be the simplest */
    ind__fail(c, IND_ERROR_OUT_OF_MEMORY, "out of memory while simplifying a size expression");
    return ir__expr_none(c);
}

bool ind_known(ind_facts *facts, ind_expr condition) {
    ind_expr e = ind_simplify(facts, condition);
    int64_t lo, hi;
    ind_expr_bounds(e, &lo, &hi);
    return ind__ok(e) && (lo > 0 || hi < 0);
}

/* ---- bounds under a fact set ---- */

/* Results found with relations and results found without them are cached separately. */
typedef struct ir__bounding {
    ind_facts *facts;
    ir__id_map memo[2]; /* id to 1 + position in done; [1]: without relations */
    ir__range *done;
    uint32_t num_done, cap_done;
    bool plain; /* ignore relations: the sum of an expression and a relation is being bounded */
} ir__bounding;

static ir__range ir__bound(ind_context *c, uint32_t id, void *user);

/* A loop index is less than its extent, which facts may have narrowed since the index was created. */
static ir__range ir__bound_symbol(ir__bounding *b, ind_expr e) {
    ir__range r = ir__stored_range(e.context, e.id, NULL);
    const ind_symbol *s = ind_expr_symbol(e);
    if (!ind__ok(s->extent)) return r;
    ir__range extent = ir__bound(e.context, ir__simplify_under(b->facts, s->extent).id, b);
    if (extent.hi != INT64_MAX && extent.hi - 1 < r.hi && extent.hi > r.lo) r.hi = extent.hi - 1;
    return r;
}

/* With the term c*k*m of e and the term d*m of the relation x >= 0, q = c/d an integer and k >= 0, the terms cancel in
   w = e - q*k*x: for q > 0 e = w + q*k*x >= w, for q < 0 e <= w. */
static void ir__bound_by_term(ir__bounding *b, ind_expr e, ir__term t, ind_expr x, ir__term u, ir__range *r) {
    ir__term k;
    int64_t least;
    if (ind_expr_is_int(u.m, NULL) || t.c == INT64_MIN || !ir__term_divide(t, u, &k) || !ind__ok(k.m)) return;
    ind_expr_bounds(k.m, &least, NULL);
    ind_expr w = least < 0 ? ir__expr_none(e.context) : ind_expr_sub(e, ir__mul2(ir__term_expr(k), x));
    if (!ind__ok(w)) return;
    const ir__range by = ir__bound(e.context, w.id, b);
    if (k.c > 0 && by.lo > r->lo) r->lo = by.lo;
    if (k.c < 0 && by.hi < r->hi) r->hi = by.hi;
}

static void ir__bound_by_relation(ir__bounding *b, ind_expr e, ind_expr x, ir__range *r) {
    for (int i = 0; i < ir__num_terms(e) && i < IND__PROOF_TERMS; i++) {
        const ir__term t = ir__term_of(ir__term_at(e, i));
        for (int k = 0; k < ir__num_terms(x) && k < IND__PROOF_TERMS; k++)
            ir__bound_by_term(b, e, t, x, ir__term_of(ir__term_at(x, k)), r);
    }
}

static void ir__bound_by_relations(ir__bounding *b, ind_expr e, ir__range *r) {
    const ir__ids *list = &b->facts->known.relation;
    if (b->plain) return;
    b->plain = true;
    for (uint32_t i = 0, tries = 0; i < list->num && tries < IND__PROOF_TRIES; i++) {
        ind_expr x = ir__id_at(b->facts, list, i);
        if (!(ir__node_of(x)->symbols & ir__node_of(e)->symbols)) continue;
        ir__bound_by_relation(b, e, x, r);
        tries++;
    }
    b->plain = false;
}

static ir__range ir__bound_node(ir__bounding *b, ind_expr e) {
    const ir__expr_node *n = ir__node_of(e);
    const ir__range stored = ir__stored_range(e.context, e.id, NULL);
    ir__range r = ir__range_node(e.context, (ind_expr_kind)n->kind, ir__node_args(n), (int)n->num_args, ir__bound, b);
    if (stored.lo > r.lo) r.lo = stored.lo;
    if (stored.hi < r.hi) r.hi = stored.hi;
    return r;
}

static ir__range ir__bound(ind_context *c, uint32_t id, void *user) {
    ir__bounding *b = (ir__bounding *)user;
    ind_expr e = ir__expr_make(c, id);
    if (!ir__node_of(e)->symbols) return ir__stored_range(c, id, NULL);
    ir__id_map *memo = &b->memo[b->plain];
    uint32_t known = ir__map_get(memo, id);
    if (known) return b->done[known - 1];
    ir__range r = ind_expr_symbol(e) ? ir__bound_symbol(b, e) : ir__bound_node(b, e);
    ir__bound_by_relations(b, e, &r);
    ir__range *slot = IND__PUSH(c, ir__range, b->done, b->num_done, b->cap_done);
    if (slot && ir__map_put(memo, id, b->num_done)) *slot = r;
    return r;
}

static ir__range ir__bounds_under(ind_facts *f, ind_expr e) {
    ir__bounding b = {.facts = f, .memo = {{.context = e.context}, {.context = e.context}}};
    ir__range r = ir__bound(e.context, e.id, &b);
    ir__map_free(&b.memo[0]);
    ir__map_free(&b.memo[1]);
    ind__free(e.context, b.done);
    ir__range exact = ir__range_multiples(r, ind_known_divisor(e));
    if (exact.lo <= exact.hi) r = exact;
    if ((r.lo == 0) != (r.hi == 0) && ir__known_nonzero(e)) r.lo ? r.hi-- : r.lo++;
    return r;
}

void ind_bounds(ind_facts *facts, ind_expr e, int64_t *lo, int64_t *hi) {
    e = ind_simplify(facts, e);
    ir__range r = ir__full_range;
    if (ind__ok(e)) {
        ind_facts *before = ind_facts_enter(e.context, facts);
        ind__state_of(e.context)->quiet++;
        r = facts ? ir__bounds_under(facts, e) : ir__stored_range(e.context, e.id, NULL);
        ind__state_of(e.context)->quiet--;
        ind_facts_enter(e.context, before);
    }
    if (lo) *lo = r.lo;
    if (hi) *hi = r.hi;
}

void ind__known_bounds(ind_expr e, int64_t *lo, int64_t *hi) {
    ind_facts *f = ind__ok(e) ? ir__current_facts(e.context) : NULL;
    if (f)
        ind_bounds(f, e, lo, hi);
    else
        ind_expr_bounds(e, lo, hi);
}

/* ============================================================================================== src/ir/expr/learn.c */
/* ---- learning ---- */

/* Puts a condition on the agenda. A consequence without a 64-bit form is invalid and is dropped. */
static ind_status ir__todo(ind_facts *f, ind_expr condition) {
    if (!ind__ok(condition)) return IND_OK;
    return ir__ids_push(f->context, &f->agenda, condition.id) ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

/* Puts a >= 0 on the agenda. */
static ind_status ir__todo_ge0(ind_facts *f, ind_expr a) {
    return ind__ok(a) ? ir__todo(f, ind_expr_le(ind_int(f->context, 0), a)) : ir__todo(f, a);
}

static ind_status ir__contradiction(ind_facts *f) {
    return ind__fail(f->context, IND_ERROR_INVALID_ARGUMENT, "contradicts known facts");
}

static ind_status ir__remember_truth(ind_facts *f, ind_expr condition) {
    ind_context *c = f->context;
    bool negated = ind_expr_query_kind(condition) == IND_EXPR_NOT;
    ind_expr opposite = negated ? ind_expr_arg(condition, 0) : ind_expr_not(condition);
    bool ok = ir__map_put(&f->known.truth, condition.id, 1) && ir__ids_push(c, &f->known.condition, condition.id);
    if (ok && ind__ok(opposite) && !ind_expr_is_int(opposite, NULL)) ok = ir__map_put(&f->known.truth, opposite.id, 2);
    ir__facts_changed(f);
    return ok ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

static bool ir__touches(const ind_facts *f, uint32_t id, ind_expr symbol) {
    return ind__expr_depends(ir__expr_make(f->context, id), symbol);
}

/* Moves the facts that contain this symbol from a list to the agenda, as conditions. */
static ind_status ir__relearn_list(ind_facts *f, ir__ids *list, ind_expr symbol,
                                   ind_expr (*say)(ind_facts *, const uint32_t *), uint32_t width) {
    uint32_t kept = 0;
    ind_status status = IND_OK;
    for (uint32_t i = 0; i < list->num; i += width) {
        bool touched = false;
        for (uint32_t k = 0; k < width; k++) touched = touched || ir__touches(f, list->id[i + k], symbol);
        if (touched && !status)
            status = ir__todo(f, say(f, &list->id[i]));
        else
            for (uint32_t k = 0; k < width; k++) list->id[kept++] = list->id[i + k];
    }
    list->num = kept;
    return status;
}

/* Interns the node directly: constructors could decide it while facts are being moved. */
static ind_expr ir__raw_condition(ind_facts *f, ind_expr_kind kind, uint32_t a, uint32_t b) {
    uint32_t arg[2] = {a, b};
    return ir__intern(f->context, kind, arg, 2, 0);
}

static ind_expr ir__condition_of_relation(ind_facts *f, const uint32_t *id) {
    return ir__raw_condition(f, IND_EXPR_LE, ind_int(f->context, 0).id, id[0]);
}

static ind_expr ir__condition_of_nonzero(ind_facts *f, const uint32_t *id) {
    return ir__raw_condition(f, IND_EXPR_NE, ind_int(f->context, 0).id, id[0]);
}

static ind_expr ir__condition_of_residue(ind_facts *f, const uint32_t *id) {
    return ir__raw_condition(f, IND_EXPR_EQ, ir__raw_condition(f, IND_EXPR_MOD, id[0], id[1]).id, id[2]);
}

static ind_expr ir__condition_of_id(ind_facts *f, const uint32_t *id) {
    return ir__expr_make(f->context, id[0]);
}

/* Rebuilds the truth map from the remaining conditions. */
static ind_status ir__rebuild_truth(ind_facts *f) {
    ir__ids list = f->known.condition, none = {0};
    ind_status status = IND_OK;
    f->known.condition = none;
    ir__map_free(&f->known.truth);
    for (uint32_t i = 0; i < list.num && !status; i++)
        status = ir__remember_truth(f, ir__expr_make(f->context, list.id[i]));
    ind__free(f->context, list.id);
    return status;
}

/* Replaces the symbol by `value`, which does not contain it. */
static ind_status ir__replace(ind_facts *f, ind_expr symbol, ind_expr value) {
    ir__knowledge *k = &f->known;
    ind_context *c = f->context;
    if (!ir__ids_push(c, &k->from, symbol.id) || !ir__ids_push(c, &k->to, value.id) ||
        !ir__map_put(&k->replaced, symbol.id, k->from.num))
        return IND_ERROR_OUT_OF_MEMORY;
    k->mask |= ir__node_of(symbol)->symbols;
    uint32_t conditions = k->condition.num;
    ind_status status = ir__relearn_list(f, &k->relation, symbol, ir__condition_of_relation, 1);
    if (!status) status = ir__relearn_list(f, &k->nonzero, symbol, ir__condition_of_nonzero, 1);
    if (!status) status = ir__relearn_list(f, &k->residue, symbol, ir__condition_of_residue, 3);
    if (!status) status = ir__relearn_list(f, &k->condition, symbol, ir__condition_of_id, 1);
    if (!status && k->condition.num != conditions) status = ir__rebuild_truth(f);
    ir__facts_changed(f);
    for (uint32_t i = 0; i + 1 < k->to.num && !status; i++) {
        if (!ir__touches(f, k->to.id[i], symbol)) continue;
        ind_expr to = ir__simplify_under(f, ir__id_at(f, &k->to, i));
        if (!ind__ok(to)) return IND_ERROR_OUT_OF_MEMORY;
        k->to.id[i] = to.id;
        ir__facts_changed(f);
    }
    return status;
}

static bool ir__narrowable(ind_expr e) {
    const ind_symbol *s = ind_expr_symbol(e);
    return s && !ind__ok(s->extent);
}

static int64_t ir__clamp(int64_t v, ir__range r) {
    return v < r.lo ? r.lo : v > r.hi ? r.hi : v;
}

/* The symbol is in `to` and a multiple of m: replaces it by a symbol of the same name with the narrower range. */
static ind_status ir__narrow(ind_facts *f, ind_expr symbol, ir__range to, int64_t m) {
    ind_symbol s = *ind_expr_symbol(symbol);
    ir__range r = ir__stored_range(f->context, symbol.id, NULL);
    if (to.lo > r.lo) r.lo = to.lo;
    if (to.hi < r.hi) r.hi = to.hi;
    if (m > 1 && s.multiple_of % m) {
        int64_t both = ir__lcm64(s.multiple_of, m);
        s.multiple_of = both % m ? m : both; /* the lcm exceeds 64 bits: takes the new one */
    }
    r = ir__range_multiples(r, s.multiple_of);
    if (r.lo > r.hi) return ir__contradiction(f);
    if (r.lo == r.hi) return ir__replace(f, symbol, ind_int(f->context, r.lo));
    s.lo = r.lo;
    s.hi = r.hi;
    s.hint = ir__clamp(s.hint, r);
    s.hint -= s.hint % s.multiple_of;
    s.hint = s.hint < r.lo && r.lo != INT64_MIN ? r.lo : s.hint;
    ind_expr narrower = ind_symbol_expr(f->context, &s);
    if (!ind__ok(narrower)) return ind__failed(f->context);
    return narrower.id == symbol.id ? IND_OK : ir__replace(f, symbol, narrower);
}

/* Bounds propagation: c*s + rest >= 0 narrows s by the largest value of rest. Narrowing a symbol moves the relation to
   the agenda, so this repeats until nothing narrows or f->narrowings is used up: three contradicting relations could
   narrow for ever. */
static ind_status ir__propagate(ind_facts *f, ind_expr r) {
    ind_context *c = f->context;
    int64_t hi;
    if (ir__num_terms(r) > IND__PROOF_TERMS) return IND_OK;
    for (int i = 0; i < ir__num_terms(r) && f->narrowings > 0; i++) {
        ind_expr t = ir__term_at(r, i), rest = ind_expr_sub(r, t);
        ir__term u = ir__term_of(t);
        if (!ind__ok(rest) || !ir__narrowable(u.m) || u.c == INT64_MIN) continue;
        ind_expr_bounds(rest, NULL, &hi);
        if (hi == INT64_MAX || hi == INT64_MIN) continue;
        ir__range to = ir__full_range, now = ir__stored_range(c, u.m.id, NULL);
        if (u.c > 0)
            to.lo = -ir__floor_div(hi, u.c); /* s >= ceil(-hi / c) */
        else
            to.hi = ir__floor_div(hi, -u.c);
        if (to.lo <= now.lo && to.hi >= now.hi) continue;
        f->narrowings--;
        return ir__narrow(f, u.m, to, 1); /* this put r on the agenda again */
    }
    return IND_OK;
}

static ind_status ir__add_relation(ind_facts *f, ind_expr r) {
    if (ir__ids_has(&f->known.relation, r.id)) return IND_OK;
    if (!ir__ids_push(f->context, &f->known.relation, r.id)) return IND_ERROR_OUT_OF_MEMORY;
    ir__facts_changed(f);
    return ir__propagate(f, r);
}

/* Divides r >= 0 by the common factor g of all terms but the integer, which is rounded down: g*x + c >= 0 is x >= -c/g,
   for integers x + floor(c/g) >= 0. */
static ind_expr ir__tighten(ind_expr r) {
    int64_t g = 0;
    for (int i = 0; i < ir__num_terms(r); i++)
        if (!ind_expr_is_int(ir__term_at(r, i), NULL)) g = ir__gcd64(g, ir__term_of(ir__term_at(r, i)).c);
    if (g < 2) return r;
    ir__sum s = {.context = r.context};
    for (int i = 0; i < ir__num_terms(r); i++) {
        ir__term t = ir__term_of(ir__term_at(r, i));
        t.c = ir__floor_div(t.c, g);
        ir__sum_push(&s, t);
    }
    return ir__sum_finish(&s);
}

/* Consequences of sign * m + c >= 0 for the arguments of m, a quotient, Min or Max. For b > 0, x // b >= q is x >= q*b,
   and x // b <= q is x <= q*b + b - 1. */
static ind_status ir__learn_single(ind_facts *f, ind_expr m, bool positive, int64_t bound) {
    ind_context *c = f->context;
    ind_expr_kind kind = ind_expr_query_kind(m);
    ind_status status = IND_OK;
    ind_expr q = ind_int(c, bound);
    if (kind == (positive ? IND_EXPR_MIN : IND_EXPR_MAX)) {
        for (int i = 0; i < ind_expr_num_args(m) && !status; i++) {
            ind_expr a = ind_expr_arg(m, i);
            status = ir__todo_ge0(f, positive ? ind_expr_sub(a, q) : ind_expr_sub(q, a));
        }
        return status;
    }
    if (kind != IND_EXPR_FLOORDIV || ir__proven_sign(ind_expr_arg(m, 1)) != 1) return IND_OK;
    ind_expr x = ind_expr_arg(m, 0), b = ind_expr_arg(m, 1), qb = ir__mul2(q, b);
    ind_expr top = ind_expr_sub(ind_expr_add(qb, b), ind_int(c, 1));
    ind_expr d = positive ? ind_expr_sub(x, qb) : ind_expr_sub(top, x);
    return ind__ok(d) ? ir__todo_ge0(f, d) : IND_OK; /* on overflow only the relation is stored */
}

/* Stores r >= 0, which is tightened and neither known nor excluded. */
static ind_status ir__store_ge0(ind_facts *f, ind_expr r) {
    int64_t c0 = 0;
    int terms = ir__num_terms(r), at = 0;
    for (int i = 0; i < terms && terms == 2; i++)
        if (!ind_expr_is_int(ir__term_at(r, i), &c0)) at = i;
    ir__term t = ir__term_of(ir__term_at(r, at));
    bool single = terms == 1 || (terms == 2 && ind_expr_is_int(ir__term_at(r, !at), NULL));
    if (!single || (t.c != 1 && t.c != -1) || c0 == INT64_MIN) return ir__add_relation(f, r);
    ir__range to = {t.c > 0 ? -c0 : INT64_MIN, t.c > 0 ? INT64_MAX : c0};
    if (ir__narrowable(t.m)) return ir__narrow(f, t.m, to, 1);
    ind_status status = ir__learn_single(f, t.m, t.c > 0, t.c > 0 ? -c0 : c0);
    uint32_t zero = ind_int(f->context, 0).id;
    bool nonzero = (to.lo > 0 || to.hi < 0) && ind_expr_query_kind(t.m) == IND_EXPR_MUL; /* then no factor is zero */
    for (int i = 0; nonzero && i < ind_expr_num_args(t.m) && !status; i++)
        status = ir__todo(f, ir__raw_condition(f, IND_EXPR_NE, zero, ind_expr_arg(t.m, i).id));
    return status ? status : ir__add_relation(f, r);
}

/* Learns d >= 0. */
static ind_status ir__learn_ge0(ind_facts *f, ind_expr d) {
    ind_context *c = f->context;
    ind_expr r = ir__tighten(d);
    if (!ind__ok(r)) return IND_OK;
    if (ir__prove_ge0(r)) return IND_OK;
    ind_expr negated = ind_expr_neg(r);
    if (ir__prove_ge0(ind_expr_sub(negated, ind_int(c, 1)))) return ir__contradiction(f);
    if (ir__prove_ge0(negated)) return ir__todo(f, ir__raw_condition(f, IND_EXPR_EQ, r.id, ind_int(c, 0).id));
    if (ir__listed_nonzero(f, r)) return ir__todo_ge0(f, ind_expr_sub(r, ind_int(c, 1)));
    return ir__store_ge0(f, r);
}

/* Learns d != 0. If one sign is excluded, it becomes a relation. At an end of a symbol's range it narrows the range. A
   product is nonzero if and only if every factor is. */
static ind_status ir__learn_ne0(ind_facts *f, ind_expr d) {
    ind_context *c = f->context;
    if (ir__known_nonzero(d)) return IND_OK;
    int64_t v;
    if (ind_expr_is_int(d, &v)) return ir__contradiction(f);
    ind_expr one = ind_int(c, 1), zero = ind_int(c, 0), p = ir__primitive(d);
    ind_status status = IND_OK;
    for (int i = 0; ind_expr_query_kind(p) == IND_EXPR_MUL && i < ind_expr_num_args(p) && !status; i++)
        status = ir__todo(f, ir__raw_condition(f, IND_EXPR_NE, zero.id, ind_expr_arg(p, i).id));
    if (status) return status;
    if (ir__prove_ge0(d)) return ir__todo_ge0(f, ind_expr_sub(d, one));
    if (ir__prove_ge0(ind_expr_neg(d))) return ir__todo_ge0(f, ind_expr_sub(ind_expr_neg(d), one));
    if (!ir__ids_has(&f->known.nonzero, p.id) && !ir__ids_push(c, &f->known.nonzero, p.id))
        return IND_ERROR_OUT_OF_MEMORY;
    ir__facts_changed(f);
    return IND_OK;
}

/* True if e % m == r contradicts a residue of e for another modulus: both must agree modulo the gcd of the moduli. */
static bool ir__residue_clashes(const ind_facts *f, ind_expr e, int64_t m, int64_t r) {
    const ir__ids *list = &f->known.residue;
    for (uint32_t i = 0; i < list->num; i += 3) {
        int64_t other, value;
        if (list->id[i] == e.id && ind_expr_is_int(ir__id_at(f, list, i + 1), &other) &&
            ind_expr_is_int(ir__id_at(f, list, i + 2), &value) && (value - r) % ir__gcd64(m, other))
            return true;
    }
    return false;
}

/* Learns e % m == r for an integer m > 0. For a symbol r == 0 gives a multiple_of; any r rounds the range inwards. */
static ind_status ir__learn_residue(ind_facts *f, ind_expr e, int64_t m, int64_t r) {
    ind_context *c = f->context;
    int64_t c0 = 0;
    for (int i = 0; i < ir__num_terms(e); i++)
        if (ind_expr_is_int(ir__term_at(e, i), &c0)) break;
    if (c0) e = ind_expr_sub(e, ind_int(c, c0)); /* x + c0 */
    c0 = ir__floor_mod(c0, m);
    if (!ind__ok(e)) return IND_OK;
    if (c0) r = r >= c0 ? r - c0 : r + (m - c0);
    if (ir__narrowable(e) && !r) return ir__narrow(f, e, ir__full_range, m);
    if (ir__residue_clashes(f, e, m, r)) return ir__contradiction(f);
    ind_expr modulus = ind_int(c, m), rest = ind_int(c, r);
    if (!ind__ok(rest) || !ir__ids_push(c, &f->known.residue, e.id) ||
        !ir__ids_push(c, &f->known.residue, modulus.id) || !ir__ids_push(c, &f->known.residue, rest.id))
        return IND_ERROR_OUT_OF_MEMORY;
    ir__facts_changed(f);
    if (!ir__narrowable(e)) return IND_OK;
    ir__range range = ir__stored_range(c, e.id, NULL), to = ir__full_range;
    int64_t gap;
    if (range.lo != INT64_MIN) { /* the next value congruent to r modulo m */
        gap = ir__floor_mod(range.lo, m);
        to.lo = ir__sat_add(range.lo, r >= gap ? r - gap : r + (m - gap));
    }
    if (range.hi != INT64_MAX) {
        gap = ir__floor_mod(range.hi, m);
        to.hi = ir__sat_add(range.hi, -(gap >= r ? gap - r : gap + (m - r)));
    }
    return to.lo > range.lo || to.hi < range.hi ? ir__narrow(f, e, to, 1) : IND_OK;
}

/* A solution of d == 0 for a symbol. */
typedef struct ir__solution {
    ind_expr symbol, value;
    ind_expr rest; /* invalid: the solution is exact; else rest % divisor == 0 must hold */
    int64_t divisor;
    int score; /* lower is better */
} ir__solution;

/* Solves d = k * symbol + rest for the symbol: -rest / k. Preferred: a symbol that is a side of the equation, then
   unbacked symbols. A size is made to depend on data only if the data cannot depend on the size. Exact solutions come
   before rounded ones. */
static bool ir__solve_for(ind_expr d, ind_expr a, ind_expr b, ind_expr s, ir__solution *out) {
    ind_context *c = d.context;
    ind_expr k, rest;
    int64_t factor;
    if (!ir__narrowable(s) || !ind__affine(d, s, &k, &rest) || !ind_expr_is_int(k, &factor)) return false;
    if (!factor || factor == INT64_MIN) return false;
    if (factor > 0) rest = ind_expr_neg(rest);
    if (factor < 0) factor = -factor;
    ir__solution r = {.symbol = s, .divisor = factor};
    r.value = factor == 1 ? rest : ind_expr_floordiv(rest, ind_int(c, factor));
    if (!ind__ok(rest) || !ind__ok(r.value) || ind__expr_depends(r.value, s)) return false;
    ind_symbol_kind kind = ind_expr_symbol(s)->kind;
    r.score = a.id == s.id ? 0 : b.id == s.id ? 1 : kind == IND_SYMBOL_UNBACKED ? 2 : 3;
    if (factor > 1 && !ind_known_multiple(rest, factor)) {
        r.rest = rest;
        r.score += 8;
    }
    if (kind == IND_SYMBOL_SIZE && ind__expr_has_kind(r.value, IND_SYMBOL_UNBACKED)) r.score += 16;
    if (!ind__expr_is_size(r.value)) r.score += 32;
    *out = r;
    return true;
}

static bool ir__solve(ind_expr d, ind_expr a, ind_expr b, ir__solution *best) {
    ind_expr symbol[IND__PROOF_TERMS];
    int n = ind__expr_symbols(d, symbol, IND__PROOF_TERMS);
    bool found = false;
    for (int i = 0; i < n && i < IND__PROOF_TERMS; i++) {
        ir__solution s = {0};
        if (!ir__solve_for(d, a, b, symbol[i], &s) || (found && s.score >= best->score)) continue;
        *best = s;
        found = true;
    }
    return found && best->score < 32; /* a size must not depend on a loop index */
}

/* Imposes the symbol's own range and multiple on its value. */
static ind_status ir__impose(ind_facts *f, ind_expr symbol, ind_expr value) {
    ind_context *c = f->context;
    ir__range r = ir__stored_range(c, symbol.id, NULL);
    int64_t m = ind_expr_symbol(symbol)->multiple_of;
    ind_status status = IND_OK;
    if (r.lo != INT64_MIN) status = ir__todo(f, ir__raw_condition(f, IND_EXPR_LE, ind_int(c, r.lo).id, value.id));
    if (!status && r.hi != INT64_MAX)
        status = ir__todo(f, ir__raw_condition(f, IND_EXPR_LE, value.id, ind_int(c, r.hi).id));
    if (!status && m > 1) status = ir__todo(f, ind_expr_eq(ind_expr_mod(value, ind_int(c, m)), ind_int(c, 0)));
    return status;
}

/* e with the replaced symbols replaced, without other simplification. Invalid if building it needs the facts. */
static ind_expr ir__renamed(ind_facts *f, ind_expr e) {
    const ir__knowledge *k = &f->known;
    ind_facts *before = ind_facts_enter(f->context, NULL);
    ind__state_of(f->context)->quiet++;
    for (uint32_t i = 0; i < k->from.num && ind__ok(e) && ir__node_of(e)->symbols & k->mask; i++) {
        ind_expr from = ir__id_at(f, &k->from, i), to = ir__id_at(f, &k->to, i);
        if (ind__expr_depends(e, from)) e = ind__substitute(e, &from, &to, 1);
    }
    ind__state_of(f->context)->quiet--;
    ind_facts_enter(f->context, before);
    return e;
}

/* True if e contains a replaced symbol. That happens in a node that cannot be built over the replacement: a division by
   an expression not proven nonzero. As the value of a symbol, e could then lead back to that symbol. */
static bool ir__has_replaced(const ind_facts *f, ind_expr e) {
    const ir__knowledge *k = &f->known;
    if (!(ir__node_of(e)->symbols & k->mask)) return false;
    for (uint32_t i = 0; i < k->from.num; i++)
        if (ind__expr_depends(e, ir__id_at(f, &k->from, i))) return true;
    return false;
}

static ind_status ir__learn_eq(ind_facts *f, ind_expr condition) {
    ind_context *c = f->context;
    ind_expr a = ind_expr_arg(condition, 0), b = ind_expr_arg(condition, 1), d = ind_expr_sub(a, b);
    if (!ind__ok(d)) return ir__remember_truth(f, condition);
    for (int side = 0; side < 2; side++) {
        ind_expr x = side ? b : a, value = side ? a : b;
        int64_t m, r;
        if (ind_expr_query_kind(x) == IND_EXPR_MOD && ind_expr_is_int(ind_expr_arg(x, 1), &m) && m > 0 &&
            ind_expr_is_int(value, &r))
            return r >= 0 && r < m ? ir__learn_residue(f, ind_expr_arg(x, 0), m, r) : ir__contradiction(f);
    }
    ind_expr common, less = ir__split_common(d, &common); /* g * x == 0 with g != 0 gives x == 0 */
    if (ind__ok(less) && ir__known_nonzero(common)) d = less;
    if (ir__known_nonzero(d)) return ir__contradiction(f);
    ir__solution s = {0};
    if (ir__solve(d, a, b, &s) && !ir__has_replaced(f, s.value)) {
        ind_status status = ir__replace(f, s.symbol, s.value);
        if (!status && ind__ok(s.rest)) {
            ind_expr modulo = ind_expr_mod(s.rest, ind_int(c, s.divisor));
            status = ir__todo(f, ind__ok(modulo) ? ind_expr_eq(modulo, ind_int(c, 0)) : modulo);
        }
        return status ? status : ir__impose(f, s.symbol, s.value);
    }
    for (int side = 0; side < 2; side++) { /* a symbolic modulus */
        ind_expr x = side ? b : a, value = side ? a : b;
        if (ind_expr_query_kind(x) != IND_EXPR_MOD) continue;
        if (!ir__ids_push(c, &f->known.residue, ind_expr_arg(x, 0).id) ||
            !ir__ids_push(c, &f->known.residue, ind_expr_arg(x, 1).id) || !ir__ids_push(c, &f->known.residue, value.id))
            return IND_ERROR_OUT_OF_MEMORY;
        ir__facts_changed(f);
        break;
    }
    ind_status status = ir__remember_truth(f, condition);
    ind_expr side[2] = {d, ind_expr_neg(d)};
    for (int i = 0; i < 2 && !status; i++) {
        ind_expr now = i ? ir__renamed(f, side[i]) : side[i]; /* the first side may have narrowed a symbol */
        ind_expr r = ind__ok(now) ? ir__tighten(now) : now;
        if (ind__ok(r)) status = ir__store_ge0(f, r);
    }
    return status;
}

static ind_status ir__todo_args(ind_facts *f, ind_expr e, bool negated) {
    ind_status status = IND_OK;
    for (int i = 0; i < ind_expr_num_args(e) && !status; i++) {
        ind_expr a = ind_expr_arg(e, i);
        status = ir__todo(f, negated ? ind_expr_not(a) : a);
    }
    return status;
}

/* Learns a condition that is neither known nor excluded. */
static ind_status ir__learn(ind_facts *f, ind_expr condition) {
    ind_context *c = f->context;
    ind_expr a = ind_expr_arg(condition, 0), b = ind_expr_arg(condition, 1);
    ind_expr d = b;
    switch (ind_expr_query_kind(condition)) {
    case IND_EXPR_AND: return ir__todo_args(f, condition, false);
    case IND_EXPR_NOT:
        return ind_expr_query_kind(a) == IND_EXPR_OR ? ir__todo_args(f, a, true) : ir__remember_truth(f, condition);
    case IND_EXPR_OR: return ir__remember_truth(f, condition);
    case IND_EXPR_EQ: return ir__learn_eq(f, condition);
    case IND_EXPR_NE:
        d = ind_expr_sub(a, b);
        return ind__ok(d) ? ir__learn_ne0(f, d) : ir__remember_truth(f, condition);
    case IND_EXPR_LE:
        d = ind_expr_sub(b, a);
        return ind__ok(d) ? ir__learn_ge0(f, d) : ir__remember_truth(f, condition);
    case IND_EXPR_LT:
        d = ind_expr_sub(ind_expr_sub(b, a), ind_int(c, 1));
        return ind__ok(d) ? ir__learn_ge0(f, d) : ir__remember_truth(f, condition);
    default: return ir__learn_ne0(f, condition); /* a number as a condition: it is not 0 */
    }
}

/* The only argument of an `or` that is not excluded; *excluded: the number of excluded ones. */
static ind_expr ir__last_choice(ind_facts *f, ind_expr condition, int *excluded) {
    ind_expr last = ir__expr_none(f->context);
    *excluded = 0;
    for (int i = 0; i < ind_expr_num_args(condition); i++) {
        ind_expr a = ir__simplify_under(f, ind_expr_arg(condition, i));
        int64_t v;
        if (ind_expr_is_int(a, &v) && !v)
            ++*excluded;
        else
            last = a;
    }
    return last;
}

/* If all arguments of an `or` but one are excluded, the remaining one is learnt. Runs when the agenda is empty. */
static ind_status ir__review_conditions(ind_facts *f) {
    ir__ids *list = &f->known.condition;
    for (uint32_t i = 0; i < list->num; i++) {
        ind_expr condition = ir__id_at(f, list, i);
        int excluded, n = ind_expr_num_args(condition);
        if (ind_expr_query_kind(condition) != IND_EXPR_OR) continue;
        ind_expr last = ir__last_choice(f, condition, &excluded);
        if (excluded == n) return ir__contradiction(f);
        if (excluded < n - 1) continue;
        ind_status status = ir__todo(f, last);
        list->id[i--] = list->id[list->num - 1];
        list->num--;
        if (!status) status = ir__rebuild_truth(f);
        if (status) return status;
    }
    return IND_OK;
}

#define IND__MAX_LEARNT 100000 /* steps of one assumption; a safety limit, not a tuning parameter */

/* Processes the agenda. f must be in force. */
static ind_status ir__learn_all(ind_facts *f) {
    ind_status status = IND_OK;
    for (uint32_t at = 0; !status; at++) {
        if (at == f->agenda.num) status = ir__review_conditions(f);
        if (status || at >= f->agenda.num) break;
        if (at > IND__MAX_LEARNT) return IND_ERROR_LIMIT;
        ind_expr condition = ir__simplify_under(f, ir__id_at(f, &f->agenda, at));
        int64_t truth;
        if (!ind_expr_is_int(condition, &truth))
            status = ir__learn(f, condition);
        else if (!truth)
            status = ir__contradiction(f);
    }
    return status;
}

/* The knowledge of f and `condition` together, in *out (to be freed in any case). */
static ind_status ir__conclude(const ind_facts *f, ind_expr condition, ir__knowledge *out) {
    ind_context *c = f->context;
    ind_facts work;
    ir__facts_init(&work, c);
    uint32_t failures = ind__state_of(c)->failures;
    ind_status status = IND_ERROR_OUT_OF_MEMORY;
    if (ir__knowledge_copy(c, &work.known, &f->known) && ir__ids_push(c, &work.agenda, condition.id)) {
        work.narrowings = 64;
        ind_facts *before = ind_facts_enter(c, &work);
        ind__state_of(c)->quiet++;
        status = ir__learn_all(&work);
        ind__state_of(c)->quiet--;
        ind_facts_enter(c, before);
    }
    if (failures != ind__state_of(c)->failures)
        status = ind__fail(c, IND_ERROR_OUT_OF_MEMORY, "out of memory while learning a fact");
    *out = work.known;
    ir__knowledge none = {0};
    work.known = none;
    ir__facts_clear(&work);
    return status;
}

/* Adds `condition` to the knowledge of f; on failure f does not change. */
static ind_status ir__accept(ind_facts *f, ind_expr condition) {
    ir__knowledge k = {0};
    ind_status status = ir__conclude(f, condition, &k);
    if (!status) {
        ir__knowledge old = f->known;
        f->known = k;
        k = old;
        ir__facts_changed(f);
    }
    ir__knowledge_free(f->context, &k);
    return status;
}

/* True if `condition` contradicts this one fact (invalid: the ranges of its symbols). */
static bool ir__excludes(ind_context *c, ind_expr fact, ind_expr condition) {
    ind_facts alone;
    ir__facts_init(&alone, c);
    ind__state_of(c)->quiet++;
    bool excludes = !ind__ok(fact) || !ir__accept(&alone, fact);
    excludes = excludes && ir__accept(&alone, condition) == IND_ERROR_INVALID_ARGUMENT;
    ind__state_of(c)->quiet--;
    ir__facts_clear(&alone);
    return excludes;
}

#define IND__MAX_BLAMED 256 /* facts tried to name the one that a condition contradicts */

static ind_status ir__fail_contradiction(const ind_facts *f, ind_expr condition) {
    ind_context *c = f->context;
    char text[512], fact[512];
    if (ind_expr_is_int(condition, NULL)) /* its text is lost */
        snprintf(text, sizeof text, "the condition is never true: it");
    else
        ind_expr_print(condition, text, sizeof text);
    if (ir__excludes(c, ir__expr_none(c), condition))
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "%s contradicts the ranges of its symbols", text);
    for (int list = 0; list < 2; list++) {
        const ir__ids *given = list ? &f->guard : &f->declared;
        for (uint32_t i = 0; i < given->num && i < IND__MAX_BLAMED; i++) {
            ind_expr e = ir__id_at(f, given, i);
            if (!ir__excludes(c, e, condition)) continue;
            ind_expr_print(e, fact, sizeof fact);
            return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "%s contradicts the %s %s", text, list ? "guard" : "fact",
                             fact);
        }
    }
    return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "%s contradicts the facts known so far, taken together", text);
}

/* Sets the message for a fact that could not be added. */
static ind_status ir__fail_fact(const ind_facts *f, ind_expr condition, ind_status status) {
    if (status == IND_ERROR_INVALID_ARGUMENT) return ir__fail_contradiction(f, condition);
    if (status == IND_ERROR_LIMIT)
        ind__fail(f->context, status, "a fact has more than %d consequences", IND__MAX_LEARNT);
    return status;
}

/* Records the condition as given, with its symbols; on failure records nothing. */
static ind_status ir__list_given(ind_facts *f, ir__ids *list, ind_expr condition) {
    ind_context *c = f->context;
    int n = ind__expr_symbols(condition, NULL, 0); /* upper bound: without output, duplicates count */
    ind_expr *symbol = (ind_expr *)ind__alloc(c, ((size_t)n + 1) * sizeof *symbol);
    uint32_t before = f->symbol.num;
    bool ok = symbol != NULL;
    n = ok ? ind__expr_symbols(condition, symbol, n) : 0;
    for (int i = 0; i < n && ok; i++)
        ok = ir__ids_has(&f->symbol, symbol[i].id) || ir__ids_push(c, &f->symbol, symbol[i].id);
    ok = ok && ir__ids_push(c, list, condition.id);
    if (!ok) f->symbol.num = before;
    ind__free(c, symbol);
    return ok ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

static ind_status ir__facts_add(ind_facts *f, ind_expr condition, ir__ids *list) {
    uint32_t symbols = f->symbol.num;
    ind_status status = ir__list_given(f, list, condition);
    if (status) return status;
    status = ir__accept(f, condition);
    if (status) {
        f->symbol.num = symbols;
        list->num--;
    }
    return status;
}

static ind_status ir__check_condition(const ind_facts *f, ind_expr *condition) {
    if (!f) return IND_ERROR_INVALID_ARGUMENT;
    if (ind__ok(*condition)) *condition = ind__in_context(f->context, *condition);
    return ind__ok(*condition) ? IND_OK : ind__failed(f->context);
}

ind_status ind_facts_assume(ind_facts *f, ind_expr condition) {
    ind_status status = ir__check_condition(f, &condition);
    if (status) return status;
    status = ir__facts_add(f, condition, &f->declared);
    return ir__fail_fact(f, condition, status);
}

/* The hints decide; if the facts exclude their answer, the facts decide. */
ind_status ind_guard(ind_facts *f, ind_expr condition, bool *holds) {
    ind_status status = ir__check_condition(f, &condition);
    if (status) return status;
    if (!holds) return ind__fail(f->context, IND_ERROR_INVALID_ARGUMENT, "a guard needs a pointer for its result");
    ind_context *c = f->context;
    ind_expr known = ind_simplify(f, condition);
    int64_t v;
    if (!ind__ok(known)) return ind__failed(c);
    if (ind_expr_is_int(known, &v)) return *holds = v != 0, IND_OK;
    if (ind__expr_has_kind(known, IND_SYMBOL_UNBACKED) || !ind__expr_is_size(known)) {
        char text[512];
        ind_expr_print(condition, text, sizeof text);
        return ind__fail(c, IND_ERROR_NOT_SUPPORTED,
                         "whether %s cannot be decided: it depends on %s, which has no hint", text,
                         ind__expr_is_size(known) ? "data" : "a loop index");
    }
    status = ind_expr_eval(known, ir__hint_of, NULL, &v);
    if (status) return status;
    ind_expr guard = v ? condition : ind_expr_not(condition);
    if (!ind__ok(guard)) return ind__failed(c);
    status = ir__facts_add(f, guard, &f->guard);
    if (status && status != IND_ERROR_INVALID_ARGUMENT) return ir__fail_fact(f, guard, status);
    *holds = (v != 0) == (status == IND_OK);
    return IND_OK;
}

int ind_facts_num_guards(const ind_facts *f) {
    return f ? (int)f->guard.num : 0;
}

int ind_facts_num_declared(const ind_facts *f) {
    return f ? (int)f->declared.num : 0;
}

static ind_expr ir__listed(const ind_facts *f, const ir__ids *list, int i) {
    return i >= 0 && (uint32_t)i < list->num ? ir__id_at(f, list, (uint32_t)i) : ir__expr_none(f->context);
}

ind_expr ind_facts_query_guard(const ind_facts *f, int i) {
    return f ? ir__listed(f, &f->guard, i) : ir__expr_none(NULL);
}

ind_expr ind_facts_query_declared(const ind_facts *f, int i) {
    return f ? ir__listed(f, &f->declared, i) : ir__expr_none(NULL);
}

/* "guard S == T does not hold: S = 3, T = 4" */
static ind_status ir__fail_check(const ind_facts *f, const char *what, ind_expr condition, ind_symbol_value_fn value,
                                 void *user) {
    ind__text t = {.context = f->context};
    ind_expr symbol[16];
    int n = ind__expr_symbols(condition, symbol, 16);
    ind__textf(&t, "%s ", what);
    ind__text_expr(&t, condition);
    ind__textf(&t, " does not hold");
    for (int i = 0; i < n && i < 16; i++) {
        const ind_symbol *s = ind_expr_symbol(symbol[i]);
        int64_t v;
        if (value && value(s, user, &v)) ind__textf(&t, "%s %s = %lld", i ? "," : ":", s->name, (long long)v);
    }
    ind_status status =
        t.failed ? IND_ERROR_OUT_OF_MEMORY : ind__fail(f->context, IND_ERROR_OUT_OF_RANGE, "%s", t.data);
    ind__text_free(&t);
    return status;
}

static ind_status ir__check_list(const ind_facts *f, bool guards, ind_symbol_value_fn value, void *user,
                                 ind_expr *failed) {
    const ir__ids *list = guards ? &f->guard : &f->declared;
    for (uint32_t i = 0; i < list->num; i++) {
        ind_expr e = ir__id_at(f, list, i);
        int64_t v;
        ind_status status = ind_expr_eval(e, value, user, &v);
        if (!status && v) continue;
        if (failed) *failed = e;
        return status ? status : ir__fail_check(f, guards ? "guard" : "fact", e, value, user);
    }
    return IND_OK;
}

static ind_status ir__check_range(const ind_facts *f, ind_expr e, ind_symbol_value_fn value, void *user) {
    const ind_symbol *s = ind_expr_symbol(e);
    int64_t v;
    if (!value || !value(s, user, &v))
        return ind__fail(f->context, IND_ERROR_NOT_FOUND, "no value is given for %s", s->name);
    if (v < s->lo || v > s->hi)
        return ind__fail(f->context, IND_ERROR_OUT_OF_RANGE, "%s = %lld is outside its range [%lld, %lld]", s->name,
                         (long long)v, (long long)s->lo, (long long)s->hi);
    if (v % s->multiple_of)
        return ind__fail(f->context, IND_ERROR_OUT_OF_RANGE, "%s = %lld is not a multiple of %lld", s->name,
                         (long long)v, (long long)s->multiple_of);
    return IND_OK;
}

ind_status ind_facts_check(const ind_facts *f, ind_symbol_value_fn value, void *user, ind_expr *failed) {
    if (!f) return IND_ERROR_INVALID_ARGUMENT;
    if (failed) *failed = ir__expr_none(f->context);
    for (uint32_t i = 0; i < f->symbol.num; i++) {
        ind_status status = ir__check_range(f, ir__id_at(f, &f->symbol, i), value, user);
        if (!status) continue;
        if (failed) *failed = ir__id_at(f, &f->symbol, i);
        return status;
    }
    ind_status status = ir__check_list(f, false, value, user, failed);
    return status ? status : ir__check_list(f, true, value, user, failed);
}

/* ============================================================================================= src/ir/expr/import.c */
/* ------------------------------------------------------------------------------------------------ >>import */

ind__import ind__import_begin(ind_context *to) {
    ind__import m = {.to = to, .made = {.context = to}};
    return m;
}

void ind__import_end(ind__import *m) {
    ir__map_free(&m->made);
}

static ind_expr ir__import_symbol(ind__import *m, const ind_symbol *symbol) {
    ind_symbol s = *symbol;
    s.extent = ind__import_expr(m, s.extent);
    return ind__ok(symbol->extent) && !ind__ok(s.extent) ? ir__expr_none(m->to) : ind_symbol_expr(m->to, &s);
}

/* Nodes are canonical in every context, so none is simplified again. */
static ind_expr ir__import_node(ind__import *m, ind_expr e) {
    const int n = ind_expr_num_args(e);
    uint32_t few[16] = {0}, *arg = n <= 16 ? few : (uint32_t *)ind__alloc(m->to, (size_t)n * sizeof *arg);
    bool ok = arg != NULL;
    for (int i = 0; i < n && ok; i++) {
        arg[i] = ind__import_expr(m, ind_expr_arg(e, i)).id;
        ok = arg[i] != 0;
    }
    ind_expr made = ok ? ir__intern(m->to, ind_expr_query_kind(e), arg, n, 0) : ir__expr_none(m->to);
    if (arg != few) ind__free(m->to, arg);
    return made;
}

ind_expr ind__import_expr(ind__import *m, ind_expr e) {
    int64_t value;
    if (!ind__ok(e)) return ir__expr_none(m->to);
    if (e.context == m->to) return e;
    if (ind_expr_is_int(e, &value)) return ind_int(m->to, value);
    const uint32_t known = ir__map_get(&m->made, e.id);
    if (known) return ir__expr_make(m->to, known);
    const ind_symbol *s = ind_expr_symbol(e);
    ind_expr made = s ? ir__import_symbol(m, s) : ir__import_node(m, e);
    return ind__ok(made) && ir__map_put(&m->made, e.id, made.id) ? made : ir__expr_none(m->to);
}

ind_expr ind__in_context(ind_context *c, ind_expr e) {
    if (!ind__ok(e) || e.context == c) return ind__ok(e) ? e : ir__expr_none(c);
    if (e.context->root != c->root) {
        ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "size expressions of two different contexts");
        return ir__expr_none(c);
    }
    ind__import m = ind__import_begin(c);
    e = ind__import_expr(&m, e);
    ind__import_end(&m);
    return e;
}

ind_status ind__import_facts(ind__import *m, const ind_facts *f, ind_facts *to) {
    ind_status status = IND_OK;
    for (uint32_t i = 0; i < f->declared.num && !status; i++)
        status = ind_facts_assume(to, ind__import_expr(m, ir__id_at(f, &f->declared, i)));
    for (uint32_t i = 0; i < f->guard.num && !status; i++) {
        ind_expr guard = ind__import_expr(m, ir__id_at(f, &f->guard, i));
        status = ind__ok(guard) ? ir__facts_add(to, guard, &to->guard) : ind__failed(m->to);
    }
    return status;
}

static ind_body *ir__body_alloc(ind_context *c, const ind_body *b);

ind_body *ind__import_body(ind__import *m, const ind_body *b) {
    ind_body *copy = ir__body_alloc(m->to, b);
    bool ok = copy != NULL;
    for (uint32_t i = 0; i < b->num_index && ok; i++) {
        copy->index[i] = ind__import_expr(m, b->index[i]);
        ok = ind__ok(copy->index[i]) || !ind__ok(b->index[i]);
    }
    for (int v = 0; v < b->rank + b->rrank && ok; v++) {
        copy->var[v] = ind__import_expr(m, b->var[v]);
        ok = ind__ok(copy->var[v]);
    }
    if (ok) return copy;
    ind__body_free(copy);
    return NULL;
}

/* ============================================================================================== src/ir/expr/index.c */
/* ------------------------------------------------------------------------------------------------- >>index */

/* Properties of an index that loops depend on: solutions of equations, strides, contiguous runs, merging and splitting
   of loops, disjointness of two memory ranges. Every answer is proven; "no" means "not proven". */

static ind_expr ir__substitute_one(ind_expr e, ind_expr symbol, ind_expr value) {
    return ind__ok(value) ? ind__substitute(e, &symbol, &value, 1) : value;
}

static bool ir__never_zero(ind_expr e) {
    int64_t lo, hi;
    ind__known_bounds(e, &lo, &hi);
    return lo > 0 || hi < 0;
}

/* x / y if y is proven to divide x, else invalid without an error. */
ind_expr ind__exact_quotient(ind_expr x, ind_expr y) {
    if (!ind__ok(x) || !ind__ok(y) || !ir__never_zero(y)) return ir__expr_none(x.context);
    int64_t hx = ind_hint(x), hy = ind_hint(y); /* the hints refute quickly */
    if (!hy || (hy != -1 && hx % hy)) return ir__expr_none(x.context);
    int64_t d;
    ind_expr q = ind_expr_floordiv(x, y);
    bool exact = ind_expr_is_int(y, &d) ? ind_known_multiple(x, d) : ind_expr_same(ind_expr_mul(q, y), x);
    return exact ? q : ir__expr_none(x.context);
}

ind_expr ind_expr_solve(ind_expr a, ind_expr b, ind_expr symbol) {
    ind_expr k, rest;
    if (!ir__both_ok(&a, &b) || !ir__both_ok(&a, &symbol) || !ind_expr_symbol(symbol)) return ir__expr_none(a.context);
    b = ind__in_context(a.context, b);
    if (!ind__affine(ind_expr_sub(a, b), symbol, &k, &rest)) return ir__expr_none(a.context);
    return ind__exact_quotient(ind_expr_neg(rest), k); /* k*symbol + rest == 0 */
}

ind_expr ind_expr_stride(ind_expr e, ind_expr index) {
    ind_expr k;
    if (!ir__both_ok(&e, &index) || !ind_expr_symbol(index)) return ir__expr_none(e.context);
    if (ind__affine(e, index, &k, NULL)) return k;
    ind_expr next = ir__substitute_one(e, index, ind_expr_add(index, ind_int(e.context, 1)));
    k = ind_expr_sub(next, e);
    return ind__expr_depends(k, index) ? ir__expr_none(e.context) : k;
}

/* ---- contiguous runs */

#define IND__FRESH_SLOT (1 << 20) /* of loop indices created here; no body uses it */

ind_expr ind__by_vectors(ind_expr e, ind_expr index, int n, ind_expr *lane) {
    const ind_symbol *s = ind_expr_symbol(index);
    if (!ind__ok(e) || !s || !ind__ok(s->extent)) return ir__expr_none(e.context);
    ind_context *c = e.context;
    ind_expr step = ind_int(c, n);
    ind_expr group = ind__index_symbol(c, 'g', IND__FRESH_SLOT, ind_expr_ceildiv(s->extent, step));
    *lane = ind__index_symbol(c, 'l', IND__FRESH_SLOT, step);
    return ir__substitute_one(e, index, ind_expr_add(ind_expr_mul(group, step), *lane));
}

/* If e takes the values base, base + 1, .. at the values n*g, n*g + 1, .. of `index`: base, as an expression in g, a
   new loop index. Else invalid without an error. If n divides d, the algebra drops l from (n*g + l) // d and takes it
   out of (n*g + l) % d, so this also covers indices with divisions. */
ind_expr ind__run_base(ind_expr e, ind_expr index, int n) {
    ind_expr lane, stride, base;
    e = ind__by_vectors(e, index, n, &lane);
    if (!ind__ok(e) || !ind__affine(e, lane, &stride, &base)) return ir__expr_none(e.context);
    return ind_expr_same(stride, ind_int(e.context, 1)) ? base : ir__expr_none(e.context);
}

/* The largest power of two up to `most` that is proven to divide e. */
static int ir__alignment(ind_expr e, int most) {
    int n = 1;
    while (n <= most / 2 && ind_known_multiple(e, 2 * (int64_t)n)) n *= 2;
    return n;
}

int ind_expr_contiguity(ind_expr e, ind_expr index, int most, int *alignment) {
    int n = 1;
    while (n <= most / 2) n *= 2;
    ind_expr base = {0};
    for (int most2 = n; n > 1; n /= 2) {
        base = ind__run_base(e, index, n);
        if (!ind__ok(base)) continue;
        if (alignment) *alignment = ir__alignment(base, most2);
        return n;
    }
    if (alignment) *alignment = ir__alignment(e, most);
    return 1;
}

/* ---- merging and splitting loops */

static int ir__add_counts(int a, int b) {
    return a > INT_MAX - b ? INT_MAX : a + b;
}

/* The count of a node is the same on every path to it, so it is computed once. */
static int ir__visit_divisions(ir__traversal *w, ind_expr e) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    if (!ind_expr_num_args(e)) return 0;
    bool written = w->steps >= IND__UNRECORDED_VISITS;
    uint32_t known = written ? ir__map_get(&w->seen, e.id) : 0;
    if (known) return (int)(known - 1);
    if (!written) w->steps++;
    int n = kind == IND_EXPR_FLOORDIV || kind == IND_EXPR_MOD;
    for (int i = 0; i < ind_expr_num_args(e); i++) n = ir__add_counts(n, ir__visit_divisions(w, ind_expr_arg(e, i)));
    if (written) ir__map_put(&w->seen, e.id, (uint32_t)n + 1); /* if there is no memory, it is only slower */
    return n;
}

int ind__expr_divisions(ind_expr e) {
    if (!ind__ok(e)) return 0;
    ir__traversal w = {.seen = {.context = e.context}};
    int n = ir__visit_divisions(&w, e);
    ir__map_free(&w.seen);
    return n;
}

static int ir__loops_divisions(const ind__loops *l) {
    int n = 0;
    for (uint32_t k = 0; k < l->num_index; k++) n = ir__add_counts(n, ind__expr_divisions(l->index[k]));
    return n;
}

void ind__loops_init(ind__loops *l, const ind_body *body, ind_expr *index) {
    *l = (ind__loops){.context = body->context, .rank = body->rank, .rrank = body->rrank};
    l->refusals = ind__refusals(body->context);
    l->num_from = body->rank + body->rrank;
    l->index = index;
    l->num_index = body->num_index;
    for (uint32_t k = 0; k < body->num_index; k++) index[k] = body->index[k];
    for (int v = 0; v < l->num_from; v++) {
        l->var[v] = l->value[v] = body->var[v];
        l->extent[v] = ind_expr_symbol(body->var[v])->extent;
    }
}

/* Handles an invalid expression. It is a failure if memory ran out, but not if the expression has no 64-bit form. */
static bool ir__loops_refuse(ind__loops *l) {
    l->failed = l->failed || ind__refused_since(l->context, l->refusals);
    return false;
}

/* Replaces symbols in the indices and in the values of the original variables. Returns false if an expression fails;
   then nothing has changed. */
static bool ir__loops_replace(ind__loops *l, const ind_expr *symbol, const ind_expr *value, int n) {
    ind_expr of_var[2 * IND_MAX_RANK];
    ind_expr *index = (ind_expr *)ind__alloc(l->context, (l->num_index + 1) * sizeof *index);
    bool ok = index != NULL;
    for (uint32_t k = 0; ok && k < l->num_index; k++) {
        index[k] = ind__substitute(l->index[k], symbol, value, n);
        ok = ind__ok(index[k]) || !ind__ok(l->index[k]);
    }
    for (int v = 0; ok && v < l->num_from; v++) {
        of_var[v] = ind__substitute(l->value[v], symbol, value, n);
        ok = ind__ok(of_var[v]);
    }
    if (ok && l->num_index) memcpy(l->index, index, l->num_index * sizeof *index);
    if (ok) memcpy(l->value, of_var, (size_t)l->num_from * sizeof *of_var);
    ind__free(l->context, index);
    return ok || ir__loops_refuse(l);
}

static void ir__loops_remove(ind__loops *l, int at) {
    int n = l->rank + l->rrank - 1;
    for (int v = at; v < n; v++) l->var[v] = l->var[v + 1], l->extent[v] = l->extent[v + 1];
    if (at < l->rank)
        l->rank--;
    else
        l->rrank--;
}

/* A loop index for position v, distinct from those of the other loops. It is named after the position unless that name
   is taken. */
static ind_expr ir__loops_symbol(const ind__loops *l, int v, bool parallel, ind_expr extent) {
    for (int slot = parallel ? v : v - l->rank;; slot += IND_MAX_RANK) {
        ind_expr s = ind__index_symbol(l->context, parallel ? 'i' : 'r', slot, extent);
        bool taken = false;
        for (int k = 0; k < l->rank + l->rrank; k++) taken = taken || ind_expr_same(s, l->var[k]);
        if (!taken) return s;
    }
}

bool ind__loops_drop_ones(ind__loops *l) {
    ind_expr zero = ind_int(l->context, 0);
    for (int v = l->rank + l->rrank - 1; v >= 0; v--) {
        int64_t one;
        if (!ind_expr_is_int(l->extent[v], &one) || one != 1) continue;
        if (!ir__loops_replace(l, &l->var[v], &zero, 1)) return false;
        ir__loops_remove(l, v);
    }
    return true;
}

/* True if e = c * (outer * extent + inner) + rest: then outer may become 0 and inner the merged variable. */
static bool ir__merges_affine(ind_expr e, ind_expr outer, ind_expr inner, ind_expr extent) {
    ind_expr a, b, rest;
    if (!ind__expr_depends(e, outer) && !ind__expr_depends(e, inner)) return true;
    if (!ind__affine(e, outer, &a, &rest) || !ind__affine(rest, inner, &b, &rest)) return false;
    return !ind__expr_depends(a, inner) && ind_expr_same(a, ind_expr_mul(b, extent));
}

/* With the merged variable m, outer = m // extent and inner = m % extent always hold. The loops merge if this adds no
   division to e. */
static bool ir__merges_divided(ind_expr e, const ind_expr *pair, const ind_expr *value) {
    ind_expr merged = ind__substitute(e, pair, value, 2);
    return ind__ok(merged) && ind__expr_divisions(merged) <= ind__expr_divisions(e);
}

/* `divides`: indices may get divisions that they do not have. */
static bool ir__loops_merge(ind__loops *l, int v, bool divides) {
    ind_context *c = l->context;
    ind_expr pair[2] = {l->var[v], l->var[v + 1]}, inner = l->extent[v + 1];
    ind_expr extent = ind_expr_mul(l->extent[v], inner), m = ir__loops_symbol(l, v, v < l->rank, extent);
    if (!ind__ok(m)) return ir__loops_refuse(l);
    ind_expr plain[2] = {ind_int(c, 0), m}, divided[2] = {{0}}, *value = plain;
    int64_t least;
    ind__known_bounds(inner, &least, NULL);
    for (uint32_t k = 0; k < l->num_index; k++) {
        ind_expr e = l->index[k];
        if (ir__merges_affine(e, pair[0], pair[1], inner)) continue;
        if (least < 1) return false;
        if (value == plain) divided[0] = ind_expr_floordiv(m, inner), divided[1] = ind_expr_mod(m, inner);
        value = divided;
        if (!ind__ok(divided[0]) || !ind__ok(divided[1])) return ir__loops_refuse(l);
        if (!divides && !ir__merges_divided(e, pair, value)) return false;
    }
    if (!ir__loops_replace(l, pair, value, 2)) return false;
    ir__loops_remove(l, v);
    l->var[v] = m;
    l->extent[v] = extent;
    return true;
}

bool ind__loops_merge(ind__loops *l, int v) {
    return ir__loops_merge(l, v, false);
}

bool ind__loops_join(ind__loops *l, int v) {
    return ir__loops_merge(l, v, true);
}

/* Sizes d for which var = d*o + i may resolve a division in e: the divisors in var // d, var % d and (k*var + ..) //
   (k*d). */
static int ir__split_candidates(ir__traversal *w, ind_expr e, ind_expr var, ind_expr *out, int max, int n) {
    if (n >= max || !ind__expr_depends(e, var) || !ir__first_visit(w, e)) return n;
    for (int i = 0; i < ind_expr_num_args(e); i++) n = ir__split_candidates(w, ind_expr_arg(e, i), var, out, max, n);
    ind_expr_kind kind = ind_expr_query_kind(e);
    if ((kind != IND_EXPR_FLOORDIV && kind != IND_EXPR_MOD) || n >= max) return n;
    ind_expr x = ind_expr_arg(e, 0), d = ind_expr_arg(e, 1), k;
    if (!ind__expr_is_size(d)) return n;
    if (ind_expr_query_kind(x) == IND_EXPR_FLOORDIV) { /* (x // a) % d separates blocks of a*d */
        d = ind_expr_mul(d, ind_expr_arg(x, 1));
        x = ind_expr_arg(x, 0);
    }
    if (!ind__affine(x, var, &k, NULL) || !ind__expr_is_size(d)) return n;
    d = ind__exact_quotient(d, k);
    for (int i = 0; i < n; i++)
        if (ind_expr_same(out[i], d)) return n;
    if (ind__ok(d)) out[n++] = d;
    return n;
}

bool ind__loops_split(ind__loops *l, int v, ind_expr size) {
    int n = l->rank + l->rrank;
    ind_expr blocks = ind__exact_quotient(l->extent[v], size);
    if (!ind__ok(blocks) || n == 2 * IND_MAX_RANK || (v < l->rank ? l->rank : l->rrank) == IND_MAX_RANK) return false;
    ind_expr outer = ir__loops_symbol(l, v, v < l->rank, blocks), inner = ir__loops_symbol(l, v + 1, v < l->rank, size);
    ind_expr value = ind_expr_add(ind_expr_mul(outer, size), inner);
    if (!ind__ok(value) || !ir__loops_replace(l, &l->var[v], &value, 1)) return false;
    for (int k = n; k > v + 1; k--) l->var[k] = l->var[k - 1], l->extent[k] = l->extent[k - 1];
    l->var[v] = outer, l->extent[v] = blocks;
    l->var[v + 1] = inner, l->extent[v + 1] = size;
    if (v < l->rank)
        l->rank++;
    else
        l->rrank++;
    return true;
}

/* Number of divisions in the indices after variable v is split by size; INT_MAX if it cannot be split. */
static int ir__split_divisions(const ind__loops *l, int v, ind_expr size) {
    ind_context *c = l->context;
    ind_expr blocks = ind__exact_quotient(l->extent[v], size), var = l->var[v];
    ind_expr outer = ind__index_symbol(c, 'g', IND__FRESH_SLOT, blocks);
    ind_expr value = ind_expr_add(ind_expr_mul(outer, size), ind__index_symbol(c, 'l', IND__FRESH_SLOT, size));
    if (!ind__ok(value)) return INT_MAX;
    int n = 0;
    for (uint32_t k = 0; k < l->num_index; k++)
        n = ir__add_counts(n, ind__expr_divisions(ir__substitute_one(l->index[k], var, value)));
    return n;
}

ind_expr ind__loops_split_size(const ind__loops *l, int v, int *saved) {
    enum { MOST = 16 };
    ind_expr candidate[MOST], best = ir__expr_none(l->context);
    int num = 0, before = ir__loops_divisions(l), least = before;
    ir__traversal w = {0};
    for (uint32_t k = 0; k < l->num_index && num < MOST; k++)
        num = ir__split_candidates(&w, l->index[k], l->var[v], candidate, MOST, num);
    ir__map_free(&w.seen);
    for (int i = 0; i < num; i++) {
        int left = ir__split_divisions(l, v, candidate[i]);
        if (left >= least) continue;
        least = left;
        best = candidate[i];
    }
    if (saved) *saved = before - least;
    return best;
}

/* ============================================================================================= src/ir/expr/ranges.c */
/* ---- ranges of memory */

/* The maximum in a term that is nondecreasing in it: Max(..) or c * Max(..) with c >= 0; else invalid. */
static ind_expr ir__max_of_term(ind_expr term) {
    ind_expr none = ir__expr_none(term.context), most = none;
    if (ind_expr_query_kind(term) == IND_EXPR_MAX) return term;
    if (ind_expr_query_kind(term) != IND_EXPR_MUL) return none;
    for (int i = 0; i < ind_expr_num_args(term); i++) {
        ind_expr factor = ind_expr_arg(term, i);
        int64_t lo;
        ind__known_bounds(factor, &lo, NULL);
        if (ind_expr_query_kind(factor) == IND_EXPR_MAX && !ind__ok(most))
            most = factor;
        else if (lo < 0)
            return none;
    }
    return most;
}

/* The first term of e (or e itself) with such a maximum, which is returned in *most; else invalid. */
static ind_expr ir__max_term(ind_expr e, ind_expr *most) {
    bool sum = ind_expr_query_kind(e) == IND_EXPR_ADD;
    for (int i = 0; i < (sum ? ind_expr_num_args(e) : 1); i++) {
        ind_expr term = sum ? ind_expr_arg(e, i) : e;
        *most = ir__max_of_term(term);
        if (ind__ok(*most)) return term;
    }
    return ir__expr_none(e.context);
}

/* e with the maximum of its term replaced by its i-th argument. */
static ind_expr ir__at_argument(ind_expr e, ind_expr term, ind_expr most, int i) {
    return ir__exchange(e, ir__remove_factor(term, most), most, ind_expr_arg(most, i));
}

enum { IR__MOST_REPLACED = 3 }; /* maxima in each other, as in the bytes of an arena */

/* Proves a <= b with a maximum in a term of b replaced by one of its arguments, a lower bound. Up to `depth`
   replacements; hints refute most of them at once. */
static bool ir__le_some(ind_expr a, ind_expr b, int depth) {
    if (ind_hint(a) > ind_hint(b)) return false;
    if (ind_known_le(a, b)) return true;
    ind_expr most, term = depth ? ir__max_term(b, &most) : ir__expr_none(b.context);
    for (int i = 0; ind__ok(term) && i < ind_expr_num_args(most); i++)
        if (ir__le_some(a, ir__at_argument(b, term, most, i), depth - 1)) return true;
    return false;
}

/* The divisor if t is a quotient by a positive number; else 0. */
static int64_t ir__divisor_of(ir__term t) {
    int64_t n = 0;
    bool quotient = ind__ok(t.m) && ind_expr_query_kind(t.m) == IND_EXPR_FLOORDIV;
    return quotient && ind_expr_is_int(ind_expr_arg(t.m, 1), &n) && n > 0 ? n : 0;
}

/* b with the coefficient of its quotient u = k * (y // n), y >= 0, reduced to c*n/m, if that is less than k: as much as
   the term t = c * (x // m) of a requires. */
static ind_expr ir__with_part(ind_expr b, ir__term t, ir__term u) {
    int64_t m = ir__divisor_of(t), n = ir__divisor_of(u), part, least;
    if (!m || !n || n % m || t.c <= 0 || ind__mul_overflow(t.c, n / m, &part) || part >= u.c)
        return ir__expr_none(b.context);
    ind_expr_bounds(u.m, &least, NULL);
    if (least < 0) return ir__expr_none(b.context);
    return ind_expr_sub(b, ind_expr_mul(ind_int(b.context, u.c - part), u.m));
}

/* Proves a <= b if b has more of a quotient than a requires: CeilDiv(x, 8) <= 3 * CeilDiv(x, 16), as 2 of them are
   enough. */
static bool ir__le_by_part(ind_expr a, ind_expr b) {
    enum { IR__MOST_PAIRS = 64 };
    if (ir__num_terms(a) * ir__num_terms(b) > IR__MOST_PAIRS) return false;
    for (int i = 0; i < ir__num_terms(a); i++)
        for (int k = 0; k < ir__num_terms(b); k++) {
            ind_expr less = ir__with_part(b, ir__term_of(ir__term_at(a, i)), ir__term_of(ir__term_at(b, k)));
            if (ind__ok(less) && ind_known_le(a, less)) return true;
        }
    return false;
}

/* A maximum in a equals one of its arguments, so each must be <= b. Hints refute most pairs at once. */
bool ind__known_le_max(ind_expr a, ind_expr b) {
    if (!ind__ok(a) || !ind__ok(b) || ind_hint(a) > ind_hint(b)) return false;
    if (ir__le_some(a, b, IR__MOST_REPLACED) || ir__le_by_part(a, b)) return true;
    ind_expr most, term = ir__max_term(a, &most);
    for (int i = 0; ind__ok(term) && i < ind_expr_num_args(most); i++)
        if (!ir__le_some(ir__at_argument(a, term, most, i), b, IR__MOST_REPLACED)) return false;
    return ind__ok(term);
}

bool ind_known_disjoint(ind_expr a, ind_expr a_size, ind_expr b, ind_expr b_size) {
    if (!ir__both_ok(&a, &a_size) || !ir__both_ok(&b, &b_size)) return false;
    if (a.context != b.context) {
        ind_context *c = a.context->root;
        a = ind__in_context(c, a), a_size = ind__in_context(c, a_size);
        b = ind__in_context(c, b), b_size = ind__in_context(c, b_size);
        if (!ind__ok(a) || !ind__ok(a_size) || !ind__ok(b) || !ind__ok(b_size)) return false;
    }
    ind_expr zero = ind_int(a.context, 0);
    if (ind_known_le(a_size, zero) || ind_known_le(b_size, zero)) return true;
    return ind__known_le_max(ind_expr_add(a, a_size), b) || ind__known_le_max(ind_expr_add(b, b_size), a);
}

/* --------------------------------------------------------------------------------------------- >>expr-text */

/* Printing has two steps. First an expression becomes a form, a tree of the text to write, chosen by the number of
   operations, then by the number of characters. Then a table of operator formats writes the form. A form is used for
   text only if the constructors turn it back into the same expression, so no rule below has to be trusted for that. */

enum { /* forms beyond the kinds of expressions */
       IR__FORM_NEG = IND_EXPR_WHERE + 1,
       IR__FORM_CEILDIV,
       IR__FORM_DIV_CALL, /* quotients in C whose operands may be negative */
       IR__FORM_MOD_CALL,
       IR__FORM_OTHERWISE, /* format only: the text before the last operand of Where */
       IR__NUM_FORM_OPS
};

#define IR__MAX_FORM_TERMS  256       /* longer sums are written as stored, to stay linear in time */
#define IR__MAX_FORM_DEPTH  400       /* nesting of forms; deeper ones are written as stored; bounds recursion */
#define IR__MAX_TEXT        (1 << 20) /* maximum characters written and read */
#define IR__MINUS_CHARS     12        /* extra characters counted for -x // 4 and x // -4: CeilDiv is clearer */
#define IR__CALL_OPS        4         /* cost of ind_floordiv over a plain division, in operations */
#define IR__FACTOR_TRIES    8         /* common factors compared before one is chosen */
#define IR__MAX_TERMS_SPLIT 32        /* terms of a numerator that may be rewritten */

typedef struct ir__form ir__form;

/* c * f[0] * f[1] * ..: equal factors are the same pointer. */
typedef struct ir__mono {
    int64_t c;
    int n;
    const ir__form **f;
} ir__mono;

typedef struct ir__poly {
    int n;
    ir__mono *t;
} ir__poly;

struct ir__form {
    uint8_t op;     /* ind_expr_kind or one of the above */
    bool fits;      /* C: no intermediate result can leave the type */
    uint16_t depth; /* of the tree below */
    uint32_t id;    /* the stored expression of the form; 0: none */
    int num;        /* operands */
    int ops, chars; /* cost to compute; length as text */
    int64_t value;  /* INT */
    int64_t lo, hi; /* bounds of the value */
    const ir__form **arg;
    const ir__poly *poly; /* the same as a sum, after roundings were rewritten; NULL: a single term */
};

/* Parameters of one printing. */
typedef struct ir__expr_style {
    ind_print form;
    bool stored; /* as stored: no factoring, no CeilDiv */
    ind__symbol_name_fn name;
    void *user;
} ir__expr_style;

/* One row per op: binding strength; texts before, between and after the operands; the strengths that the first and the
   other operands need to have no parentheses. Strength, as in Python: or 1, and 2, not 3, comparison 4, sum 5, product
   and quotient 6, unary minus 7, the rest 8. */
typedef struct ir__op_format {
    int strength;
    const char *open, *between, *close;
    int first, other;
} ir__op_format;

/* Formats common to text and the C forms. */
#define IR__FORMAT_COMMON                                                                                              \
    [IND_EXPR_ADD] = {5, "", " + ", "", 5, 5}, [IND_EXPR_MUL] = {6, "", "*", "", 7, 7},                                \
    [IND_EXPR_MOD] = {6, "", " % ", "", 6, 7}, [IND_EXPR_EQ] = {4, "", " == ", "", 5, 5},                              \
    [IND_EXPR_NE] = {4, "", " != ", "", 5, 5}, [IND_EXPR_LT] = {4, "", " < ", "", 5, 5},                               \
    [IND_EXPR_LE] = {4, "", " <= ", "", 5, 5}, [IR__FORM_NEG] = {7, "-", "", "", 7, 7}

static const ir__op_format ir__format_text[IR__NUM_FORM_OPS] = {
    IR__FORMAT_COMMON,
    [IND_EXPR_FLOORDIV] = {6, "", " // ", "", 6, 7},
    [IND_EXPR_MIN] = {8, "Min(", ", ", ")", 0, 0},
    [IND_EXPR_MAX] = {8, "Max(", ", ", ")", 0, 0},
    [IND_EXPR_AND] = {2, "", " and ", "", 3, 3},
    [IND_EXPR_OR] = {1, "", " or ", "", 2, 2},
    [IND_EXPR_NOT] = {3, "not ", "", "", 3, 3},
    [IND_EXPR_WHERE] = {8, "Where(", ", ", ")", 0, 0},
    [IR__FORM_OTHERWISE] = {0, "", ", ", "", 0, 0},
    [IR__FORM_CEILDIV] = {8, "CeilDiv(", ", ", ")", 0, 0},
};

static const ir__op_format ir__format_c[IR__NUM_FORM_OPS] = {
    IR__FORMAT_COMMON,
    [IND_EXPR_FLOORDIV] = {6, "", " / ", "", 6, 7},
    [IND_EXPR_MIN] = {8, "ind_min(", ", ", ")", 0, 0},
    [IND_EXPR_MAX] = {8, "ind_max(", ", ", ")", 0, 0},
    [IND_EXPR_AND] = {2, "", " && ", "", 3, 3},
    [IND_EXPR_OR] = {1, "", " || ", "", 2, 2},
    [IND_EXPR_NOT] = {7, "!", "", "", 8, 8},
    [IND_EXPR_WHERE] = {8, "(", " ? ", ")", 1, 1},
    [IR__FORM_OTHERWISE] = {0, "", " : ", "", 0, 0},
    [IR__FORM_DIV_CALL] = {8, "ind_floordiv(", ", ", ")", 0, 0},
    [IR__FORM_MOD_CALL] = {8, "ind_floormod(", ", ", ")", 0, 0},
};

static const ir__op_format ir__format_latex[IR__NUM_FORM_OPS] = {
    [IND_EXPR_ADD] = {5, "", " + ", "", 5, 5},
    [IND_EXPR_MUL] = {6, "", " \\cdot ", "", 7, 7},
    [IND_EXPR_FLOORDIV] = {8, "\\left\\lfloor \\frac{", "}{", "} \\right\\rfloor", 0, 0},
    [IND_EXPR_MOD] = {6, "", " \\bmod ", "", 7, 7},
    [IND_EXPR_MIN] = {8, "\\min\\left(", ", ", "\\right)", 0, 0},
    [IND_EXPR_MAX] = {8, "\\max\\left(", ", ", "\\right)", 0, 0},
    [IND_EXPR_EQ] = {4, "", " = ", "", 5, 5},
    [IND_EXPR_NE] = {4, "", " \\ne ", "", 5, 5},
    [IND_EXPR_LT] = {4, "", " < ", "", 5, 5},
    [IND_EXPR_LE] = {4, "", " \\le ", "", 5, 5},
    [IND_EXPR_AND] = {2, "", " \\land ", "", 3, 3},
    [IND_EXPR_OR] = {1, "", " \\lor ", "", 2, 2},
    [IND_EXPR_NOT] = {3, "\\lnot ", "", "", 8, 8},
    [IND_EXPR_WHERE] = {8, "\\begin{cases} ", " & \\text{if } ", " & \\text{otherwise} \\end{cases}", 0, 0},
    [IR__FORM_OTHERWISE] = {0, "", " \\\\ ", "", 0, 0},
    [IR__FORM_NEG] = {7, "-", "", "", 7, 7},
    [IR__FORM_CEILDIV] = {8, "\\left\\lceil \\frac{", "}{", "} \\right\\rceil", 0, 0},
};

static bool ir__style_is_c(const ir__expr_style *s) {
    return s->form == IND_PRINT_C || s->form == IND_PRINT_CUDA32 || s->form == IND_PRINT_CUDA64;
}

static const ir__op_format *ir__op_format_of(const ir__expr_style *s, const ir__form *f) {
    return &(ir__style_is_c(s) ? ir__format_c : s->form == IND_PRINT_LATEX ? ir__format_latex : ir__format_text)[f->op];
}

/* True if a minus is written before a product without parentheses: -a*b is (-a)*b. False if the product begins with a
   sum: the minus would be multiplied into it. */
static bool ir__minus_product(const ir__form *f) {
    const ir__form *p = f->op == IR__FORM_NEG ? f->arg[0] : f;
    if (f->op != IR__FORM_NEG || p->op != IND_EXPR_MUL) return false;
    int first = p->arg[0]->op;
    return first != IND_EXPR_ADD && first != IND_EXPR_MUL && first != IR__FORM_NEG;
}

static int ir__strength(const ir__op_format *row, const ir__form *f) {
    if (ir__minus_product(f)) return 6;
    return f->op == IND_EXPR_INT ? (f->value < 0 ? 7 : 8) : f->op == IND_EXPR_SYM ? 8 : row->strength;
}

/* The strength that operand i needs. */
static int ir__operand_strength(const ir__op_format *row, const ir__form *f, int i) {
    if (ir__minus_product(f)) return 6;
    return i ? row->other : row->first;
}

/* ============================================================================================== src/ir/expr/forms.c */
/* ---- making forms */

typedef struct ir__rewritten { /* a quotient that results from a rewriting */
    struct ir__rewritten *next;
    const ir__form *form;
    uint32_t x, b;
} ir__rewritten;

typedef struct ir__former {
    ind_context *context;
    const ir__expr_style *style;
    ind__arena arena;
    struct ir__form_entry { /* open addressing; key: expression id and a bit, 0 for the form as one factor */
        uint32_t key;
        const ir__form *form;
    } * memo;
    uint32_t num_memo, cap_memo;
    ir__rewritten *made;
    bool careful; /* read back each rewritten rounding */
    int trying;   /* nesting of trials: number of roundings whose numerator is being rewritten */
    int level;    /* 0: every rule; 1: no rewriting of roundings; 2: as stored */
    bool refused; /* a constructor failed during a trial */
    int64_t limit;
} ir__former;

static int ir__cap(int64_t v) { /* saturates counts, so they cannot overflow */
    return v > INT32_MAX / 4 ? INT32_MAX / 4 : (int)v;
}

static int ir__digits(int64_t v) {
    int n = v < 0 ? 2 : 1;
    while ((v /= 10) != 0) n++;
    return n;
}

static struct ir__form_entry *ir__form_slot(ir__former *w, uint32_t key) {
    uint32_t at = key * 2654435761u & (w->cap_memo - 1);
    while (w->memo[at].key && w->memo[at].key != key) at = (at + 1) & (w->cap_memo - 1);
    return &w->memo[at];
}

static bool ir__form_grow(ir__former *w) {
    uint32_t cap = w->cap_memo ? w->cap_memo * 2 : 64, old_cap = w->cap_memo;
    struct ir__form_entry *old = w->memo;
    struct ir__form_entry *grown = (struct ir__form_entry *)ind__alloc(w->context, cap * sizeof *grown);
    if (!grown) return false;
    w->memo = grown;
    w->cap_memo = cap;
    for (uint32_t i = 0; i < old_cap; i++)
        if (old[i].key) *ir__form_slot(w, old[i].key) = old[i];
    ind__free(w->context, old);
    return true;
}

static const ir__form *ir__form_find(ir__former *w, uint32_t key) {
    return w->cap_memo ? ir__form_slot(w, key)->form : NULL;
}

static const ir__form *ir__form_put(ir__former *w, uint32_t key, const ir__form *form) {
    if (!form || (2 * w->num_memo >= w->cap_memo && !ir__form_grow(w))) return NULL;
    struct ir__form_entry *e = ir__form_slot(w, key);
    if (!e->key) w->num_memo++;
    e->key = key;
    e->form = form;
    return form;
}

static int64_t ir__abs_bound(int64_t v) {
    return v == INT64_MIN ? INT64_MAX : v < 0 ? -v : v;
}

/* Bounds of a form without a stored expression, and whether all intermediate results fit the type. */
static void ir__form_bounds(const ir__former *w, ir__form *f) {
    int64_t below = 0, above = 0, size = 1;
    ir__range r = {f->op == IND_EXPR_ADD ? 0 : 1, f->op == IND_EXPR_ADD ? 0 : 1};
    for (int i = 0; i < f->num; i++) {
        const ir__form *a = f->arg[i];
        const ir__range part = {a->lo, a->hi};
        int64_t lo = ir__abs_bound(a->lo), hi = ir__abs_bound(a->hi);
        f->fits = f->fits && a->fits;
        if (f->op == IND_EXPR_ADD) {
            below = ir__sat_add(below, a->lo < 0 ? a->lo : 0);
            above = ir__sat_add(above, a->hi > 0 ? a->hi : 0);
            r = ir__range_add(r, part);
        } else {
            r = ir__range_mul(r, part);
            size = ir__sat_mul(size, lo > hi ? lo : hi > 1 ? hi : 1);
        }
    }
    if (f->op == IR__FORM_NEG) r = ir__range_neg(r);
    f->lo = r.lo;
    f->hi = r.hi;
    f->fits = f->fits && size <= w->limit && above <= w->limit && below >= -w->limit;
}

/* True if the text starts with a minus. */
static bool ir__begins_with_minus(const ir__form *f) {
    if (f->op == IND_EXPR_ADD || f->op == IND_EXPR_MUL) f = f->arg[0];
    return f->op == IR__FORM_NEG || (f->op == IND_EXPR_INT && f->value < 0);
}

static void ir__form_measure(ir__form *f) {
    const ir__op_format *row = &ir__format_text[f->op];
    int64_t ops = f->num > 1 && f->op != IND_EXPR_WHERE && f->op != IR__FORM_CEILDIV ? f->num - 1 : f->num > 0,
            chars = 0;
    if (f->op == IR__FORM_DIV_CALL || f->op == IR__FORM_MOD_CALL) ops += IR__CALL_OPS;
    if (row->open) chars = (int64_t)(strlen(row->open) + strlen(row->close));
    for (int i = 0; i < f->num; i++) {
        const ir__form *a = f->arg[i];
        bool minus = f->op == IND_EXPR_ADD && i && a->op == IR__FORM_NEG; /* a - b: one operation */
        ops += a->ops - minus;
        chars += a->chars - minus + (i && row->between ? (int64_t)strlen(row->between) : 0);
        if (!minus && row->open && ir__strength(&ir__format_text[a->op], a) < ir__operand_strength(row, f, i))
            chars += 2;
        if (a->depth >= f->depth) f->depth = (uint16_t)(a->depth + 1);
    }
    bool quotient = f->op == IND_EXPR_FLOORDIV || f->op == IND_EXPR_MOD || f->op == IR__FORM_CEILDIV;
    if (f->op == IND_EXPR_FLOORDIV && f->num && ir__begins_with_minus(f->arg[0])) chars += IR__MINUS_CHARS;
    if (quotient && f->num && ir__begins_with_minus(f->arg[1])) chars += IR__MINUS_CHARS;
    f->ops = ir__cap(ops);
    f->chars = ir__cap(chars);
}

static ir__form *ir__form_new(ir__former *w, int op, const ir__form *const *arg, int num) {
    for (int i = 0; i < num; i++)
        if (!arg[i]) return NULL;
    ir__form *f = (ir__form *)ind__arena_alloc(&w->arena, sizeof *f);
    if (!f || (num && !(f->arg = (const ir__form **)ind__arena_copy(&w->arena, arg, (size_t)num * sizeof *arg))))
        return NULL;
    f->op = (uint8_t)op;
    f->num = num;
    f->fits = true;
    ir__form_measure(f);
    if (num) ir__form_bounds(w, f);
    return f;
}

static ir__form *ir__form_int(ir__former *w, int64_t v) {
    ir__form *f = ir__form_new(w, IND_EXPR_INT, NULL, 0);
    if (!f) return NULL;
    f->value = f->lo = f->hi = v;
    f->chars = ir__digits(v);
    return f;
}

/* ---- polynomials over forms */

static ir__poly ir__poly_new(ir__former *w, int cap) {
    ir__poly p = {0, (ir__mono *)ind__arena_alloc(&w->arena, (size_t)(cap ? cap : 1) * sizeof *p.t)};
    return p;
}

/* a / d, if it is a monomial. */
static bool ir__mono_divide(ir__former *w, const ir__mono *a, const ir__mono *d, ir__mono *q) {
    if (a->n < d->n || !d->c || (d->c == -1 && a->c == INT64_MIN) || a->c % d->c) return false;
    const ir__form *rest[64];
    int n = 0, used = 0;
    uint64_t taken = 0;
    if (a->n > 64) return false;
    for (int i = 0; i < d->n; i++) {
        int at = 0;
        while (at < a->n && (a->f[at] != d->f[i] || taken >> at & 1)) at++;
        if (at == a->n) return false;
        taken |= 1ull << at;
        used++;
    }
    for (int i = 0; i < a->n; i++)
        if (!(taken >> i & 1)) rest[n++] = a->f[i];
    q->c = a->c / d->c;
    q->n = a->n - used;
    q->f = a->f;
    if (!used) return true;
    q->f = (const ir__form **)ind__arena_copy(&w->arena, rest, (size_t)n * sizeof *rest);
    return q->f != NULL;
}

static bool ir__mono_equal(ir__former *w, const ir__mono *a, const ir__mono *b) {
    ir__mono q;
    return a->n == b->n && a->c == b->c && a->c && ir__mono_divide(w, a, b, &q);
}

/* True if the factors are the same. */
static bool ir__mono_alike(ir__former *w, const ir__mono *a, const ir__mono *b) {
    const ir__mono x = {1, a->n, a->f}, y = {1, b->n, b->f};
    return ir__mono_equal(w, &x, &y);
}

/* The index of the term of p with the factors of m; -1 if there is none. */
static int ir__poly_find(ir__former *w, const ir__poly *p, const ir__mono *m) {
    for (int i = 0; i < p->n; i++)
        if (ir__mono_alike(w, &p->t[i], m)) return i;
    return -1;
}

typedef struct ir__cost {
    int64_t ops, chars;
} ir__cost;

static bool ir__cheaper(ir__cost a, ir__cost b) {
    return a.ops < b.ops || (a.ops == b.ops && a.chars < b.chars);
}

/* Cost of a monomial without its sign. */
static ir__cost ir__mono_cost(const ir__mono *m) {
    ir__cost cost = {0, 0};
    bool number = !m->n || (m->c != 1 && m->c != -1);
    for (int i = 0; i < m->n; i++) {
        cost.ops += m->f[i]->ops + 1;
        cost.chars += m->f[i]->chars + 1;
        if (number + m->n > 1 && ir__strength(&ir__format_text[m->f[i]->op], m->f[i]) < 7) cost.chars += 2;
    }
    if (number) {
        cost.ops++;
        cost.chars += ir__digits(m->c) - (m->c < 0) + 1;
    }
    cost.ops--;
    cost.chars--;
    return cost;
}

/* Cost of a sum written term by term. A sum that can start with a positive term needs no unary minus, nor does one with
   a negative number. */
typedef struct ir__tally {
    ir__cost terms;
    int n, positive, literal;
} ir__tally;

/* Adds (by 1) or removes (by -1) a term. */
static void ir__tally_change(ir__tally *t, const ir__mono *m, int by) {
    ir__cost term = ir__mono_cost(m);
    t->terms.ops += by * term.ops;
    t->terms.chars += by * term.chars;
    t->n += by;
    if (m->c > 0) t->positive += by;
    if (!m->n || m->c < -1) t->literal += by;
}

/* Includes the operators between the terms. */
static ir__cost ir__tally_cost(const ir__tally *t) {
    if (!t->n) return (ir__cost){0, 1};
    return (ir__cost){t->terms.ops + t->n - 1 + (!t->positive && !t->literal),
                      t->terms.chars + 3 * (t->n - 1) + !t->positive};
}

static ir__tally ir__poly_tally(const ir__poly *p) {
    ir__tally t = {0};
    for (int i = 0; i < p->n; i++) ir__tally_change(&t, &p->t[i], 1);
    return t;
}

static ir__cost ir__poly_cost(const ir__poly *p) {
    const ir__tally t = ir__poly_tally(p);
    return ir__tally_cost(&t);
}

static bool ir__all_negative(const ir__poly *p) {
    return p->n && !ir__poly_tally(p).positive;
}

/* ---- from stored expressions */

static const ir__form *ir__form_of(ir__former *w, ind_expr e);
static const ir__form *ir__form_comparison(ir__former *w, ind_expr e, const ir__form *f);
static ind_expr ir__form_value(ir__former *w, const ir__form *f);
static ind_expr ir__make_nary(int op, ind_context *c, const ind_expr *v, int n);

static ir__form *ir__form_stored(ir__former *w, ind_expr e, int op, const ir__form *const *arg, int num) {
    ir__form *f = ir__form_new(w, op, arg, num);
    if (!f) return NULL;
    f->id = e.id;
    f->lo = ir__node_of(e)->lo;
    f->hi = ir__node_of(e)->hi;
    f->fits = true;
    if (op == IND_EXPR_INT) f->value = f->lo;
    if (op == IND_EXPR_INT) f->chars = ir__digits(f->lo);
    if (op == IND_EXPR_SYM) f->chars = ir__cap((int64_t)strlen(ind_expr_symbol(e)->name));
    return f;
}

/* The operator of a quotient. C rounds toward zero, which is down only if neither operand is negative. */
static int ir__quotient_op(const ir__former *w, ind_expr e) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    ind_expr a = ind_expr_arg(e, 0), b = ind_expr_arg(e, 1);
    bool quotient = kind == IND_EXPR_FLOORDIV || kind == IND_EXPR_MOD;
    if (!quotient || !ir__style_is_c(w->style) || (ir__prove_ge0(a) && ir__prove_ge0(b))) return (int)kind;
    return kind == IND_EXPR_MOD ? IR__FORM_MOD_CALL : IR__FORM_DIV_CALL;
}

/* e as one factor: its operation over the forms of its operands. */
static const ir__form *ir__form_atom(ir__former *w, ind_expr e) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    if (kind == IND_EXPR_ADD || kind == IND_EXPR_MUL) return ir__form_of(w, e);
    const ir__form *known = ir__form_find(w, 2 * e.id);
    if (known) return known;
    int n = ind_expr_num_args(e);
    const ir__form *local[8], **arg = local;
    if (n > 8 && !(arg = (const ir__form **)ind__arena_alloc(&w->arena, (size_t)n * sizeof *arg))) return NULL;
    for (int i = 0; i < n; i++)
        if (!(arg[i] = ir__form_of(w, ind_expr_arg(e, i)))) return NULL;
    const ir__form *f = ir__form_stored(w, e, ir__quotient_op(w, e), arg, n);
    bool comparison = kind == IND_EXPR_EQ || kind == IND_EXPR_NE || kind == IND_EXPR_LT || kind == IND_EXPR_LE;
    if (f && comparison && f->ops > 1 && !w->style->stored && !ir__style_is_c(w->style))
        f = ir__form_comparison(w, e, f);
    return ir__form_put(w, 2 * e.id, f);
}

static bool ir__mono_of(ir__former *w, ind_expr e, ir__mono *m) {
    bool product = ind_expr_query_kind(e) == IND_EXPR_MUL;
    int n = product ? ind_expr_num_args(e) : 1;
    m->c = 1;
    m->n = 0;
    m->f = (const ir__form **)ind__arena_alloc(&w->arena, (size_t)n * sizeof *m->f);
    for (int i = 0; m->f && i < n; i++) {
        ind_expr a = product ? ind_expr_arg(e, i) : e;
        if (i == 0 && ind_expr_is_int(a, &m->c)) continue;
        if (!(m->f[m->n++] = ir__form_atom(w, a))) return false;
    }
    return m->f != NULL;
}

/* Moves the integer to the end: i0 - 3. */
static void ir__integer_last(ir__poly *p) {
    for (int i = 0; i + 1 < p->n; i++) {
        const ir__mono m = p->t[i];
        if (m.n) continue;
        memmove(&p->t[i], &p->t[i + 1], (size_t)(p->n - 1 - i) * sizeof *p->t);
        p->t[p->n - 1] = m;
        return;
    }
}

static bool ir__poly_of(ir__former *w, ind_expr e, ir__poly *p) {
    bool sum = ind_expr_query_kind(e) == IND_EXPR_ADD;
    int n = sum ? ind_expr_num_args(e) : 1;
    *p = ir__poly_new(w, n);
    for (int i = 0; p->t && i < n; i++)
        if (!ir__mono_of(w, sum ? ind_expr_arg(e, i) : e, &p->t[p->n++])) return false;
    if (p->t) ir__integer_last(p);
    return p->t != NULL;
}

/* ---- from polynomials */

/* Number of terms that a factor is stored with. */
static int ir__stored_terms(const ir__former *w, const ir__form *f) {
    ind_expr e = ir__expr_make(w->context, f->id);
    return ind_expr_query_kind(e) == IND_EXPR_ADD ? ind_expr_num_args(e) : 1;
}

/* Orders the factors of a product of sums that were too large to expand. The constructors would multiply a factor in
   front into the first sum, and the smaller sums into each other. So the sums go last, in parentheses, the smallest
   paired with the largest: 3*x*((a + ..)*(b + ..)). Returns the number of factors. */
static int ir__pair_sums(ir__former *w, const ir__form **f, int n, bool others) {
    const ir__form **sum = (const ir__form **)ind__arena_alloc(&w->arena, ((size_t)n + 1) * sizeof *sum);
    int sums = 0, kept = 0;
    for (int i = 0; sum && i < n; i++) sums += ir__stored_terms(w, f[i]) > 1;
    if (!sum || sums < 2 || (sums == 2 && n == 2 && !others)) return sum ? n : 0;
    sums = 0;
    for (int i = 0; i < n; i++) {
        if (ir__stored_terms(w, f[i]) == 1) {
            f[kept++] = f[i];
            continue;
        }
        int at = sums++;
        for (; at > 0 && ir__stored_terms(w, f[i]) < ir__stored_terms(w, sum[at - 1]); at--) sum[at] = sum[at - 1];
        sum[at] = f[i];
    }
    for (int i = 0; i < sums - 1 - i; i++) {
        const ir__form *pair[2] = {sum[i], sum[sums - 1 - i]};
        if (!(f[kept++] = ir__form_new(w, IND_EXPR_MUL, pair, 2))) return 0;
    }
    if (sums % 2) f[kept++] = sum[sums / 2];
    return kept;
}

/* Max(-a, -b) for the form of Min(a, b): the form of its negation. It has no stored expression, so it is read back. */
static const ir__form *ir__form_flipped(ir__former *w, const ir__form *f) {
    ind_expr e = ir__expr_make(w->context, f->id), minus = ind_expr_neg(e);
    const ir__form *arg[8];
    for (int i = 0; i < f->num; i++)
        if (!(arg[i] = ir__form_of(w, ind_expr_neg(ind_expr_arg(e, i))))) return NULL;
    ir__form *r =
        ind__ok(minus) ? ir__form_new(w, f->op == IND_EXPR_MIN ? IND_EXPR_MAX : IND_EXPR_MIN, arg, f->num) : NULL;
    if (r) ind_expr_bounds(minus, &r->lo, &r->hi);
    return r;
}

/* The monomial with its first Min or Max negated and the sign of c changed, if that saves operations. `alone`: no sum
   around it, so a factor -1 costs an operation. */
static ir__mono ir__mono_flipped(ir__former *w, ir__mono m, bool alone) {
    int k = 0;
    while (k < m.n && m.f[k]->op != IND_EXPR_MIN && m.f[k]->op != IND_EXPR_MAX) k++;
    if (k == m.n || !m.f[k]->id || m.f[k]->num > 8 || m.c == INT64_MIN || w->level > 1 || ir__style_is_c(w->style))
        return m;
    const int level = w->level;
    const ir__form *f = ir__form_flipped(w, m.f[k]);
    w->level = level; /* the operands have set their own level */
    if (!f || f->ops + (alone && m.c == 1) >= m.f[k]->ops + (alone && m.c == -1)) return m;
    const ir__form **factor = (const ir__form **)ind__arena_copy(&w->arena, m.f, (size_t)m.n * sizeof *factor);
    if (!factor) return m;
    factor[k] = f;
    return (ir__mono){.c = -m.c, .f = factor, .n = m.n};
}

/* c * f[0] * f[1] * .. */
static const ir__form *ir__form_times(ir__former *w, int64_t c, const ir__mono *m) {
    const ir__form **arg = (const ir__form **)ind__arena_alloc(&w->arena, ((size_t)m->n + 1) * sizeof *arg);
    if (!arg) return NULL;
    for (int i = 0; i < m->n; i++) arg[i + 1] = m->f[i];
    int n = ir__pair_sums(w, arg + 1, m->n, c != 1);
    if (!n) return NULL;
    if (c == 1) return n == 1 ? arg[1] : ir__form_new(w, IND_EXPR_MUL, arg + 1, n);
    arg[0] = ir__form_int(w, c);
    return ir__form_new(w, IND_EXPR_MUL, arg, n + 1);
}

/* The monomial without its sign, which is returned in *minus; INT64_MIN is left as it is. */
static const ir__form *ir__form_unsigned(ir__former *w, ir__mono m, bool *minus) {
    m = ir__mono_flipped(w, m, false);
    *minus = m.c < 0 && m.c != INT64_MIN;
    if (*minus) m.c = -m.c;
    return m.n ? ir__form_times(w, m.c, &m) : ir__form_int(w, m.c);
}

static const ir__form *ir__form_negated(ir__former *w, const ir__form *f) {
    return ir__form_new(w, IR__FORM_NEG, &f, 1);
}

/* A monomial that is no term of a sum: -3*x has a negative number, -x a unary minus. */
static const ir__form *ir__form_mono(ir__former *w, ir__mono m) {
    if (!m.n) return ir__form_int(w, m.c);
    m = ir__mono_flipped(w, m, true);
    const ir__form *f = ir__form_times(w, m.c == -1 ? 1 : m.c, &m);
    return f && m.c == -1 ? ir__form_negated(w, f) : f;
}

typedef struct ir__parts { /* terms of a sum under construction */
    const ir__form **f;
    bool *minus;
    int n;
} ir__parts;

/* The part to write first: the first positive one, else one whose minus is part of a number. */
static int ir__leading_part(const ir__parts *p) {
    for (int i = 0; i < p->n; i++)
        if (!p->minus[i]) return i;
    for (int i = 0; i < p->n; i++)
        if (p->f[i]->op == IND_EXPR_INT || (p->f[i]->op == IND_EXPR_MUL && p->f[i]->arg[0]->op == IND_EXPR_INT))
            return i;
    return 0;
}

/* -(3*x) as (-3)*x, -(3) as -3: the minus of a number is not an operation. */
static const ir__form *ir__form_minus(ir__former *w, const ir__form *f) {
    if (f->op == IND_EXPR_INT) return ir__form_int(w, -f->value);
    if (f->op != IND_EXPR_MUL || f->arg[0]->op != IND_EXPR_INT) return ir__form_negated(w, f);
    const ir__form **arg = (const ir__form **)ind__arena_copy(&w->arena, f->arg, (size_t)f->num * sizeof *arg);
    if (!arg) return NULL;
    arg[0] = ir__form_int(w, -f->arg[0]->value);
    return ir__form_new(w, IND_EXPR_MUL, arg, f->num);
}

static const ir__form *ir__form_of_parts(ir__former *w, ir__parts *p) {
    if (!p->n) return ir__form_int(w, 0);
    int lead = ir__leading_part(p);
    const ir__form *first = p->minus[lead] ? ir__form_minus(w, p->f[lead]) : p->f[lead];
    for (int i = lead; i > 0; i--) {
        p->f[i] = p->f[i - 1];
        p->minus[i] = p->minus[i - 1];
    }
    p->f[0] = first;
    for (int i = 1; i < p->n; i++)
        if (p->minus[i]) p->f[i] = ir__form_negated(w, p->f[i]);
    return p->n == 1 ? first : ir__form_new(w, IND_EXPR_ADD, p->f, p->n);
}

/* ============================================================================================= src/ir/expr/factor.c */
/* ---- taking out common factors: p = q * (v*c + t) + rest, where q has no common factor and a positive first term */

typedef struct ir__split {
    ir__poly q, t, rest;
    int64_t gain; /* operations saved over writing term by term */
} ir__split;

static bool ir__same_factor(const ir__mono *m, const ir__form *v) {
    for (int i = 0; i < m->n; i++)
        if (m->f[i] == v) return true;
    return false;
}

/* Divides all terms by their greatest common monomial, with the sign that makes the first term positive. *content
   returns the monomial. */
static bool ir__make_primitive(ir__former *w, ir__poly *q, ir__mono *content) {
    ir__mono g = {0, 0, (const ir__form **)ind__arena_alloc(&w->arena, 64 * sizeof *g.f)};
    if (!g.f) return false;
    for (int i = 0; i < q->n; i++) g.c = ir__gcd64(g.c, q->t[i].c);
    for (int i = 0; i < q->t[0].n && i < 64; i++) {
        g.f[g.n++] = q->t[0].f[i];
        ir__mono one = {1, g.n, g.f}, ignored;
        for (int k = 1; k < q->n; k++) {
            ir__mono m = q->t[k];
            if (ir__mono_divide(w, &m, &one, &ignored)) continue;
            g.n--;
            break;
        }
    }
    if (q->t[0].c < 0) g.c = -g.c;
    for (int i = 0; i < q->n; i++)
        if (!ir__mono_divide(w, &q->t[i], &g, &q->t[i])) return false;
    *content = g;
    return true;
}

/* Moves multiples of q from rest to t, if all their terms are in rest. */
static void ir__peel_multiples(ir__former *w, ir__split *s) {
    ir__poly *r = &s->rest;
    if (s->q.n < 2 || r->n > 64) return;
    for (int i = 0; i < r->n;) {
        ir__mono m, part;
        int at[64], found = 1;
        bool whole = s->q.n <= r->n && s->q.n <= 64 && ir__mono_divide(w, &r->t[i], &s->q.t[0], &m);
        at[0] = i;
        for (int j = 1; whole && j < s->q.n; j++) {
            int k = 0;
            while (k < r->n && !(ir__mono_divide(w, &r->t[k], &m, &part) && ir__mono_equal(w, &part, &s->q.t[j]))) k++;
            whole = k < r->n;
            at[found++] = k;
        }
        if (!whole) {
            i++;
            continue;
        }
        s->t.t[s->t.n++] = m;
        for (int j = 0; j < found; j++) r->t[at[j]].c = 0;
        int kept = 0;
        for (int k = 0; k < r->n; k++)
            if (r->t[k].c) r->t[kept++] = r->t[k];
        r->n = kept;
        i = 0;
    }
}

/* Operations of q * t + rest. If t is a monomial, its sign becomes the sign of the product in the sum. */
static int64_t ir__split_ops(const ir__split *s) {
    bool single = s->t.n == 1, minus = single && s->t.t[0].c < 0;
    int64_t ops = ir__poly_cost(&s->q).ops + 1 + (single ? ir__mono_cost(&s->t.t[0]).ops : ir__poly_cost(&s->t).ops);
    if (!s->rest.n) return ops + (minus && s->t.t[0].c == -1);
    const ir__tally rest = ir__poly_tally(&s->rest);
    return ops + (minus ? ir__tally_cost(&rest).ops : rest.terms.ops + rest.n - 1) + 1;
}

/* The product of two monomials, in new memory. */
static bool ir__mono_times(ir__former *w, const ir__mono *a, const ir__mono *b, ir__mono *out) {
    out->n = a->n + b->n;
    out->f = (const ir__form **)ind__arena_alloc(&w->arena, (size_t)(out->n + 1) * sizeof *out->f);
    if (!out->f || out->n > 60 || ind__mul_overflow(a->c, b->c, &out->c)) return false;
    for (int i = 0; i < a->n; i++) out->f[i] = a->f[i];
    for (int i = 0; i < b->n; i++) out->f[a->n + i] = b->f[i];
    return true;
}

/* Moves the number of a monomial t into q: a*(64*b - 2), not 2*a*(32*b - 1); a*(5 - b), not -a*(b - 5). */
static void ir__settle_number(ir__split *s) {
    if (s->t.n != 1 || s->t.t[0].c == INT64_MIN) return;
    const ir__tally rest = ir__poly_tally(&s->rest);
    int64_t c = s->t.t[0].c, most = 1, move = 1;
    bool inside = s->t.t[0].n > 0, literal = false;
    for (int i = 0; i < s->q.n; i++) {
        const ir__mono *m = &s->q.t[i];
        if (m->n && (m->c == 1 || m->c == -1)) inside = false; /* the number would be a further operation */
        if (!m->n || m->c < 0 || m->c > 1) literal = true;     /* a term that can come first without a unary minus */
        if (ir__abs_bound(m->c) > most) most = ir__abs_bound(m->c);
    }
    if (most == INT64_MAX) return;
    if (c < 0 && !rest.positive && literal) move = -1;
    if (inside && most < INT64_MAX / ir__abs_bound(c)) move *= ir__abs_bound(c);
    for (int i = 0; i < s->q.n; i++) s->q.t[i].c *= move;
    s->t.t[0].c /= move;
}

/* Splits p by the factor v, or (v NULL) by the number c. */
static bool ir__split_by(ir__former *w, const ir__poly *p, const ir__form *v, int64_t c, ir__split *s) {
    ir__mono by = {v ? 1 : c, v != NULL, &v}, content, first;
    s->q = ir__poly_new(w, p->n);
    s->t = ir__poly_new(w, p->n);
    s->rest = ir__poly_new(w, p->n);
    if (!s->q.t || !s->t.t || !s->rest.t) return false;
    for (int i = 0; i < p->n; i++) {
        bool in = v ? ir__same_factor(&p->t[i], v) : p->t[i].c == c || p->t[i].c == -c;
        if (!in)
            s->rest.t[s->rest.n++] = p->t[i];
        else if (!ir__mono_divide(w, &p->t[i], &by, &s->q.t[s->q.n++]))
            return false;
    }
    if (s->q.n < 2 || !ir__make_primitive(w, &s->q, &content)) return false;
    if (v) { /* by.f points at a parameter */
        by.f = (const ir__form **)ind__arena_copy(&w->arena, &v, sizeof v);
        if (!by.f) return false;
    }
    if (!ir__mono_times(w, &by, &content, &first)) return false;
    s->t.t[s->t.n++] = first;
    ir__peel_multiples(w, s);
    ir__settle_number(s);
    s->gain = ir__poly_cost(p).ops - ir__split_ops(s);
    return s->q.n * s->t.n <= IND__MAX_EXPAND || s->t.n == 1;
}

/* Takes out the common factor of all terms first: 8*(a + b)*(a + b). */
static bool ir__split_content(ir__former *w, const ir__poly *p, ir__split *s) {
    s->q = *p;
    s->q.t = (ir__mono *)ind__arena_copy(&w->arena, p->t, (size_t)p->n * sizeof *p->t);
    s->t = ir__poly_new(w, 1);
    s->rest = ir__poly_new(w, 1);
    if (!s->q.t || !s->t.t || !s->rest.t || !ir__make_primitive(w, &s->q, &s->t.t[0])) return false;
    s->t.n = 1;
    if (s->t.t[0].c == INT64_MIN || ir__abs_bound(s->t.t[0].c) == 1) return false; /* single factors find the rest */
    ir__settle_number(s);
    s->gain = ir__poly_cost(p).ops - ir__split_ops(s);
    return s->gain > 0;
}

/* The square root of a monomial: every factor an even number of times and a square coefficient. False if it is no
   square. */
static bool ir__mono_root(ir__former *w, const ir__mono *m, ir__mono *root) {
    int64_t c = m->c > 0 && m->c < INT32_MAX ? (int64_t)sqrt((double)m->c) : 0;
    root->c = c;
    root->n = 0;
    root->f = (const ir__form **)ind__arena_alloc(&w->arena, (size_t)(m->n + 1) * sizeof *root->f);
    if (!root->f || c * c != m->c || m->n % 2 || !m->n) return false;
    for (int i = 0; i < m->n; i += 2) { /* equal factors are adjacent */
        if (m->f[i] != m->f[i + 1]) return false;
        root->f[root->n++] = m->f[i];
    }
    return true;
}

/* Removes the term a * b * times from rest; false if there is none. */
static bool ir__take_product(ir__former *w, ir__poly *rest, const ir__mono *a, const ir__mono *b, int times) {
    for (int i = 0; i < rest->n; i++) {
        ir__mono q, one;
        if (!ir__mono_divide(w, &rest->t[i], a, &q) || !ir__mono_divide(w, &q, b, &one) || one.n || one.c != times)
            continue;
        rest->n--;
        memmove(&rest->t[i], &rest->t[i + 1], (size_t)(rest->n - i) * sizeof *rest->t);
        return true;
    }
    return false;
}

/* p = r*r + rest. r starts with the root of one term; its other terms are the quotients of the terms of p by twice that
   root. */
static bool ir__split_square(ir__former *w, const ir__poly *p, const ir__mono *square, ir__split *s) {
    ir__mono root, twice;
    if (p->n < 3 || p->n > 64 || !ir__mono_root(w, square, &root)) return false;
    s->q = ir__poly_new(w, p->n + 1);
    s->rest = ir__poly_new(w, p->n);
    if (!s->q.t || !s->rest.t) return false;
    s->q.t[s->q.n++] = root;
    twice = root;
    twice.c *= 2;
    for (int i = 0; i < p->n; i++) {
        s->rest.t[s->rest.n++] = p->t[i];
        if (&p->t[i] != square && ir__mono_divide(w, &p->t[i], &twice, &s->q.t[s->q.n])) s->q.n++;
    }
    for (int i = 0; i < s->q.n; i++)
        for (int j = i; j < s->q.n; j++)
            if (!ir__take_product(w, &s->rest, &s->q.t[i], &s->q.t[j], i == j ? 1 : 2)) return false;
    s->t = s->q;
    s->gain = ir__poly_cost(p).ops - ir__split_ops(s);
    return s->q.n > 1;
}

typedef struct ir__candidate {
    const ir__form *v;
    int64_t c;
    int count, at;
} ir__candidate;

static int ir__candidate_group(const void *a, const void *b) {
    const ir__candidate *x = (const ir__candidate *)a, *y = (const ir__candidate *)b;
    if (x->v != y->v) return (uintptr_t)x->v < (uintptr_t)y->v ? -1 : 1;
    if (x->c != y->c) return x->c < y->c ? -1 : 1;
    return x->at - y->at;
}

/* By descending count, then by first occurrence, so the order does not depend on addresses. */
static int ir__candidate_order(const void *a, const void *b) {
    const ir__candidate *x = (const ir__candidate *)a, *y = (const ir__candidate *)b;
    return x->count != y->count ? y->count - x->count : x->at - y->at;
}

/* Factors and numbers that occur in at least two terms, best first. Returns their number, -1 without memory. */
static int ir__list_candidates(ir__former *w, const ir__poly *p, ir__candidate **out) {
    int cap = 0, n = 0, kept = 0;
    for (int i = 0; i < p->n; i++) cap += p->t[i].n + 1;
    ir__candidate *v = (ir__candidate *)ind__arena_alloc(&w->arena, (size_t)cap * sizeof *v);
    if (!v) return -1;
    for (int i = 0, at = 0; i < p->n; i++) {
        const ir__mono *m = &p->t[i];
        for (int k = 0; k < m->n; k++, at++)
            if (!k || m->f[k] != m->f[k - 1]) v[n++] = (ir__candidate){m->f[k], 0, 1, at};
        int64_t c = m->c < 0 && m->c != INT64_MIN ? -m->c : m->c;
        if (c > 1) v[n++] = (ir__candidate){NULL, c, 1, at++};
    }
    qsort(v, (size_t)n, sizeof *v, ir__candidate_group);
    for (int i = 0; i < n;) {
        int from = i;
        while (++i < n && v[i].v == v[from].v && v[i].c == v[from].c) v[from].count++;
        if (v[from].count > 1) v[kept++] = v[from];
    }
    qsort(v, (size_t)kept, sizeof *v, ir__candidate_order);
    *out = v;
    return kept;
}

/* The split that saves most; false if none saves anything. */
static bool ir__best_split(ir__former *w, const ir__poly *p, ir__split *best) {
    ir__candidate *v = NULL;
    int n = p->n > 1 ? ir__list_candidates(w, p, &v) : 0;
    if (n > 0 && ir__split_content(w, p, best)) return true;
    best->gain = 0;
    for (int i = 0; i < n && i < IR__FACTOR_TRIES; i++) {
        ir__split s;
        if (ir__split_by(w, p, v[i].v, v[i].c, &s) && s.gain > best->gain) *best = s;
    }
    for (int i = 0; n && i < p->n && i < IR__FACTOR_TRIES; i++) {
        ir__split s;
        if (ir__split_square(w, p, &p->t[i], &s) && s.gain > best->gain) *best = s;
    }
    return best->gain > 0;
}

static const ir__form *ir__form_sum(ir__former *w, const ir__poly *all, int depth);

/* The product of two forms: nested products flattened, one number in front, the sign in *minus. */
static const ir__form *ir__form_product(ir__former *w, const ir__form *a, const ir__form *b, bool *minus) {
    const ir__form *arg[128], *side[2] = {a, b};
    int64_t c = 1;
    int n = 1;
    *minus = false;
    for (int i = 0; i < 2; i++) {
        const ir__form *f = side[i];
        if (!f) return NULL;
        if (f->op == IR__FORM_NEG) {
            *minus = !*minus;
            f = f->arg[0];
        }
        bool flat = f->op == IND_EXPR_MUL;
        if (n + (flat ? f->num : 1) > 127) return NULL;
        for (int k = 0; k < (flat ? f->num : 1); k++) {
            const ir__form *x = flat ? f->arg[k] : f;
            if (x->op != IND_EXPR_INT)
                arg[n++] = x;
            else if (ind__mul_overflow(c, x->value, &c))
                return NULL;
        }
    }
    if (c < 0 && c != INT64_MIN) {
        *minus = !*minus;
        c = -c;
    }
    if (c == 1) return n == 2 ? arg[1] : ir__form_new(w, IND_EXPR_MUL, arg + 1, n - 1);
    arg[0] = ir__form_int(w, c);
    return ir__form_new(w, IND_EXPR_MUL, arg, n);
}

/* The sum with common factors taken out, while that saves operations. */
static const ir__form *ir__form_sum(ir__former *w, const ir__poly *all, int depth) {
    ir__poly p = *all;
    if (p.n == 1) return ir__form_mono(w, p.t[0]);
    ir__parts parts = {NULL, NULL, 0};
    parts.f = (const ir__form **)ind__arena_alloc(&w->arena, ((size_t)p.n + 1) * sizeof *parts.f);
    parts.minus = (bool *)ind__arena_alloc(&w->arena, ((size_t)p.n + 1) * sizeof *parts.minus);
    if (!parts.f || !parts.minus) return NULL;
    ir__split s;
    bool factor = w->level < 2 && p.n <= IR__MAX_FORM_TERMS && depth < 64;
    while (factor && p.n && ir__best_split(w, &p, &s)) {
        const ir__form *outer = ir__form_sum(w, &s.t, depth + 1), *inner = ir__form_sum(w, &s.q, depth + 1);
        parts.f[parts.n] = ir__form_product(w, outer, inner, &parts.minus[parts.n]);
        if (!parts.f[parts.n++]) return NULL;
        p = s.rest;
    }
    for (int i = 0; i < 2 * p.n; i++) { /* the integer last */
        const ir__mono *m = &p.t[i % p.n];
        if ((m->n == 0) != (i >= p.n)) continue;
        if (!(parts.f[parts.n] = ir__form_unsigned(w, *m, &parts.minus[parts.n]))) return NULL;
        parts.n++;
    }
    if (parts.n == 1) return parts.minus[0] ? ir__form_minus(w, parts.f[0]) : parts.f[0];
    return ir__form_of_parts(w, &parts);
}

/* ========================================================================================== src/ir/expr/roundings.c */
/* ---- rewriting roundings: equal forms of a quotient or modulo

   Identities of integers, for any b != 0 or, if the row has `positive`, for b > 0; k is any integer.
   With n, d and s the signs of the numerator, of the divisor and of the result:
   x // b = s * op(n*x + offset + k*b, d*b) + constant - s*d*k
   x % b = s * op(n*x + offset + k*b, d*b) + constant + divisors*b
   The added terms merge into the surrounding sum, which saves operations:
   1 + (x + 3) // 4 = (x + 7) // 4, 2 - (x + 2) // 4 = (9 - x) // 4,
   7 - (x + 7) % 8 = -x % 8, -CeilDiv(x, 8) = x // -8. */

static const struct ir__identity {
    int op, numerator, offset, divisor, sign, constant, divisors;
    bool positive; /* only for b > 0 */
} ir__identities[] = {
    {IND_EXPR_FLOORDIV, 1, 0, 1, 1, 0, 0, false},
    {IR__FORM_CEILDIV, 1, 1, 1, 1, -1, 0, true},     /* floor(x / b) = ceil((x + 1) / b) - 1 */
    {IND_EXPR_FLOORDIV, -1, -1, 1, -1, -1, 0, true}, /* = -floor((-x - 1) / b) - 1 */
    {IR__FORM_CEILDIV, -1, 0, 1, -1, 0, 0, false},   /* = -ceil(-x / b) */
    {IND_EXPR_FLOORDIV, -1, 0, -1, 1, 0, 0, false},  /* the four above over -x / -b */
    {IR__FORM_CEILDIV, -1, -1, -1, 1, -1, 0, true},
    {IND_EXPR_FLOORDIV, 1, 1, -1, -1, -1, 0, true},
    {IR__FORM_CEILDIV, 1, 0, -1, -1, 0, 0, false},
    {IND_EXPR_MOD, 1, 0, 1, 1, 0, 0, false},
    {IND_EXPR_MOD, -1, -1, 1, -1, -1, 1, true}, /* x % b = b - 1 - (-x - 1) % b */
    {IND_EXPR_MOD, -1, 0, -1, -1, 0, 0, false}, /* x % b = -(-x % -b) */
    {IND_EXPR_MOD, 1, 1, -1, 1, -1, 1, true},   /* both: x % b = b - 1 + (x + 1) % -b */
};

#define IR__MAX_UNITS     6  /* terms of a divisor that are compared with the surrounding sum */
#define IR__MAX_TRIED     3  /* nesting of roundings whose numerators are rewritten for the outer one */
#define IR__MAX_TRIES     48 /* rewritings of one rounding that are compared by estimate */
#define IR__MAX_REWRITTEN 4  /* of these, the number of best ones that are built */
#define IR__MAX_PASSES    4  /* over the roundings of a sum */
#define IR__NESTED_OPS    2  /* operations that rewriting a nested rounding may save: an estimate */

/* A term of the surrounding sum that changes when a number is added to the quotient: m, or m times a term of the
   divisor. */
typedef struct ir__unit {
    ir__mono m;
    int at;      /* index in the surrounding sum, -1: there is none */
    int64_t now; /* its coefficient, 0 if there is none */
} ir__unit;

typedef struct ir__rewriting {
    const struct ir__identity *id;
    int64_t k;
    int64_t integer;            /* of the numerator */
    int64_t constant, divisors; /* added to the sum: m * (constant + divisors * (the divisor without integer)) */
    bool guess;                 /* not an identity of all integers; must be verified */
    ir__cost cost;              /* estimated cost of the sum with it */
    const ir__form *f;          /* the new quotient; NULL: nothing is cheaper */
} ir__rewriting;

/* Numerator or divisor of a quotient. */
typedef struct ir__side {
    ind_expr e;
    const ir__form *f;
    ir__poly p;
    int64_t integer; /* the integer term of p */
} ir__side;

typedef struct ir__rounding {
    int term;          /* index of the term m * f in the sum */
    ir__mono m;        /* the term without the quotient */
    const ir__form *f; /* the quotient */
    ind_expr value;    /* value = x / b: f, or f times the coefficient of the term, as 3*(x % 4) = 3*x % 12 */
    ir__side x, b;
    bool number, positive; /* b is a number; b is proven positive */
    bool nested;           /* x has a rounding that might be rewritten */
    ir__cost saved;        /* saved by taking factors out of x */
    ir__cost over[2];      /* cost of b and of -b */
    bool minus[2];         /* their texts begin with a minus */
    bool shares;           /* x + b might be cheaper than x */
    int64_t grain;         /* proven divisor of b and of all terms of x but the integer */
    bool residues;         /* residues are facts, so further rewritings may hold */
    ir__unit unit[IR__MAX_UNITS + 1];
    int units;
    ir__tally others; /* all terms but this one and those of the units */
    ir__cost cost;    /* of the cheapest rewriting so far */
    ir__rewriting best;
    ir__rewriting tries[IR__MAX_TRIES];
    int num_tries;
} ir__rounding;

static int64_t ir__poly_integer(const ir__poly *p) {
    return p->n && !p->t[p->n - 1].n ? p->t[p->n - 1].c : 0;
}

/* A form as a sum. */
static bool ir__poly_of_form(ir__former *w, const ir__form *f, ir__poly *p) {
    if (f->poly) {
        *p = *f->poly;
        return true;
    }
    *p = ir__poly_new(w, 1);
    if (!p->t) return false;
    p->n = 1;
    p->t[0] = (ir__mono){f->value, 0, NULL};
    if (f->op == IND_EXPR_INT) return true;
    p->t[0] = (ir__mono){1, 1, (const ir__form **)ind__arena_copy(&w->arena, &f, sizeof(const ir__form *))};
    return p->t[0].f != NULL;
}

/* n * x + k * b, with its integer given; the integer is last. */
static bool ir__poly_numerator(ir__former *w, const ir__rounding *r, int n, int64_t k, int64_t integer, ir__poly *out) {
    *out = ir__poly_new(w, r->x.p.n + r->b.p.n + 1);
    if (!out->t) return false;
    for (int i = 0; i < r->x.p.n; i++) {
        ir__mono m = r->x.p.t[i];
        if (!m.n) continue;
        if (ind__mul_overflow(m.c, n, &m.c)) return false;
        out->t[out->n++] = m;
    }
    for (int i = 0; k && i < r->b.p.n; i++) {
        ir__mono m = r->b.p.t[i];
        if (!m.n) continue;
        int at = ir__poly_find(w, out, &m);
        if (at < 0) out->t[at = out->n++] = (ir__mono){0, m.n, m.f};
        if (ind__mul_overflow(m.c, k, &m.c) || ind__add_overflow(out->t[at].c, m.c, &out->t[at].c)) return false;
        if (!out->t[at].c) out->t[at] = out->t[--out->n];
    }
    if (integer || !out->n) out->t[out->n++] = (ir__mono){integer, 0, NULL};
    return true;
}

/* C: true if the numerator is nonnegative and no intermediate result leaves the type. */
static bool ir__poly_in_type(const ir__former *w, const ir__poly *p) {
    int64_t below = 0, above = 0, lowest = 0;
    for (int i = 0; i < p->n; i++) {
        ir__range product = {p->t[i].c, p->t[i].c};
        for (int k = 0; k < p->t[i].n; k++) {
            const ir__range factor = {p->t[i].f[k]->lo, p->t[i].f[k]->hi};
            product = ir__range_mul(product, factor);
        }
        lowest = ir__sat_add(lowest, product.lo < 0 ? product.lo : 0);
        below = ir__sat_add(below, product.lo);
        above = ir__sat_add(above, product.hi > 0 ? product.hi : 0);
    }
    return below >= 0 && above <= w->limit && lowest >= -w->limit;
}

/* Cost of the sum with this rewriting in place of the term; *fits: no number exceeds 64 bits. */
static ir__cost ir__cost_around(ir__former *w, const ir__rounding *r, const ir__rewriting *v, const ir__form *f,
                                bool *fits) {
    const ir__form *factor = f;
    ir__mono one = {v->id->sign, 1, &factor}, term;
    ir__tally all = r->others;
    *fits = ir__mono_times(w, &r->m, &one, &term);
    if (*fits) ir__tally_change(&all, &term, 1);
    for (int i = 0; i < r->units && *fits; i++) {
        ir__mono m = r->unit[i].m;
        *fits = !ind__mul_overflow(m.c, i ? v->divisors : v->constant, &m.c) &&
                !ind__add_overflow(m.c, r->unit[i].now, &m.c);
        if (m.c && *fits) ir__tally_change(&all, &m, 1);
    }
    return ir__tally_cost(&all);
}

/* Estimated cost of the quotient before it is built; rarely above the actual cost. */
static ir__form ir__estimate(const ir__rounding *r, const ir__rewriting *v, const ir__poly *x) {
    const ir__op_format *row = &ir__format_text[v->id->op];
    ir__form f = {.op = (uint8_t)v->id->op};
    ir__cost cost = ir__poly_cost(x), over = r->over[v->id->divisor < 0];
    int64_t nested = r->nested ? IR__NESTED_OPS : 0, ops = cost.ops - r->saved.ops - nested;
    int64_t chars = cost.chars - r->saved.chars - 10 * nested;
    chars += (int64_t)(strlen(row->open) + strlen(row->between) + strlen(row->close)) + over.chars;
    if (row->first && x->n > 1) chars += 2;
    if (f.op == IND_EXPR_FLOORDIV && ir__all_negative(x)) chars += IR__MINUS_CHARS;
    if (r->minus[v->id->divisor < 0]) chars += IR__MINUS_CHARS;
    if (row->other && r->b.p.n > 1) chars += 2;
    f.chars = ir__cap(chars > 0 ? chars : 0);
    f.ops = ir__cap((ops > 0 ? ops : 0) + 1 + over.ops);
    return f;
}

/* Finds a quotient that was built before: equal quotients must be the same factor. */
static const ir__form *ir__find_rewritten(const ir__former *w, int op, ind_expr x, ind_expr b) {
    for (const ir__rewritten *m = w->made; m; m = m->next)
        if (m->form->op == op && m->x == x.id && m->b == b.id) return m->form;
    return NULL;
}

static const ir__form *ir__make_quotient(ir__former *w, int op, ind_expr x, ind_expr b) {
    const ir__form *made = ir__find_rewritten(w, op, x, b);
    if (made || !ind__ok(x) || !ind__ok(b) || w->trying > 2 * IR__MAX_TRIED) return made;
    w->trying++;
    const ir__form *arg[2] = {ir__form_of(w, x), ir__form_of(w, b)};
    w->trying--;
    ir__form *f = ir__form_new(w, op, arg, 2);
    ir__rewritten *m = f ? (ir__rewritten *)ind__arena_alloc(&w->arena, sizeof *m) : NULL;
    if (!m) return NULL;
    const ir__range quotient = ir__range_div((ir__range){arg[0]->lo, arg[0]->hi}, (ir__range){arg[1]->lo, arg[1]->hi});
    f->lo = quotient.lo; /* used by C only, which has no other op here */
    f->hi = quotient.hi;
    f->fits = true;
    *m = (ir__rewritten){w->made, f, x.id, b.id};
    w->made = m;
    return f;
}

/* Builds the quotient of a rewriting. NULL: its parts exceed 64 bits. */
static const ir__form *ir__rewritten_quotient(ir__former *w, const ir__rounding *r, const ir__rewriting *v) {
    ind_context *c = w->context;
    int64_t least = v->k, integer = r->x.integer;
    if (v->id->numerator < 0 && ind__sub_overflow(0, integer, &integer)) return NULL;
    if (ind__mul_overflow(least, r->b.integer, &least) || ind__add_overflow(integer, least, &integer) ||
        ind__sub_overflow(v->integer, integer, &integer))
        return NULL;
    ind_expr x = v->id->numerator < 0 ? ind_expr_neg(r->x.e) : r->x.e,
             b = v->id->divisor < 0 ? ind_expr_neg(r->b.e) : r->b.e;
    if (v->k) x = ind_expr_add(x, ind_expr_mul(r->b.e, ind_int(c, v->k)));
    if (integer) x = ind_expr_add(x, ind_int(c, integer));
    return ir__make_quotient(w, v->id->op, x, b);
}

/* True if the rewriting equals the rounding that it replaces. */
static bool ir__rewriting_holds(ir__former *w, const ir__rounding *r, const ir__rewriting *v) {
    ind_context *c = w->context;
    ind_expr e = ir__form_value(w, v->f);
    if (ind__ok(e) && v->id->sign < 0) e = ind_expr_neg(e);
    if (ind__ok(e) && v->constant) e = ind_expr_add(e, ind_int(c, v->constant));
    if (ind__ok(e) && v->divisors) e = ind_expr_add(e, ind_expr_sub(r->b.e, ind_int(c, r->b.integer)));
    return ind__ok(e) && e.id == r->value.id;
}

/* Adds a rewriting to the list of trials if its estimate is cheaper than the best so far. */
static void ir__list_rewriting(ir__former *w, ir__rounding *r, ir__rewriting v) {
    bool fits;
    ir__poly x;
    if (r->num_tries == IR__MAX_TRIES || !ir__poly_numerator(w, r, v.id->numerator, v.k, v.integer, &x)) return;
    if (ir__style_is_c(w->style) && !ir__poly_in_type(w, &x)) return;
    const ir__form estimate = ir__estimate(r, &v, &x);
    v.cost = ir__cost_around(w, r, &v, &estimate, &fits);
    if (!fits || !ir__cheaper(v.cost, r->cost)) return;
    int at = r->num_tries++;
    for (; at > 0 && ir__cheaper(v.cost, r->tries[at - 1].cost); at--) r->tries[at] = r->tries[at - 1];
    r->tries[at] = v;
}

/* Builds the listed rewritings while one may be cheaper. */
static void ir__try_listed(ir__former *w, ir__rounding *r) {
    for (int i = 0; i < r->num_tries && i < IR__MAX_REWRITTEN && ir__cheaper(r->tries[i].cost, r->cost); i++) {
        ir__rewriting *v = &r->tries[i];
        bool fits;
        if (!(v->f = ir__rewritten_quotient(w, r, v))) continue;
        ir__cost cost = ir__cost_around(w, r, v, v->f, &fits);
        if (!fits || !ir__cheaper(cost, r->cost)) continue;
        if ((v->guess || w->careful) && !ir__style_is_c(w->style) && !ir__rewriting_holds(w, r, v)) continue;
        r->cost = cost;
        r->best = *v;
    }
}

/* If b > 0 and all terms of x but the integer are multiples of g, the integer may be rounded down to a multiple of g:
   (x + 3) // 8 = x // 8 and (x + 3) % 16 = x % 16 + 3 with g = 4. An op that rounds up takes the next multiple instead;
   over -b the two are exchanged. */
static void ir__drop_residue(const ir__rounding *r, ir__rewriting *v) {
    int64_t rest = v->integer % r->grain;
    if (rest < 0) rest += r->grain;
    if ((v->id->op == IR__FORM_CEILDIV) != (v->id->divisor < 0) && rest) rest -= r->grain;
    if (v->integer > INT64_MAX - r->grain || v->integer < INT64_MIN + r->grain) return;
    v->integer -= rest;
    if (v->id->op == IND_EXPR_MOD) v->constant += v->id->sign * rest;
}

/* Facts about residues may remove an integer that no identity removes. The trials are verified by
   ir__rewriting_holds. */
static void ir__try_residues(ir__former *w, ir__rounding *r, ir__rewriting v) {
    int64_t rest = v.constant;
    v.guess = true;
    if (v.id->op == IND_EXPR_MOD) {
        const ir__unit *u = &r->unit[0];
        if (u->now == INT64_MIN || u->now % u->m.c) return;
        v.constant = -(u->now / u->m.c);
        if (ind__add_overflow(rest, -v.constant, &rest) || rest == INT64_MIN ||
            ind__add_overflow(v.integer, v.id->sign * rest, &v.integer))
            return;
        if (r->number && v.integer % r->b.integer) return;
    }
    v.integer = 0;
    ir__list_rewriting(w, r, v);
}

/* The k worth trying: 0; the k that removes the integer of the numerator; the k that removes that of the surrounding
   sum. */
static int ir__shifts(const ir__rounding *r, const ir__rewriting *v, int64_t k[4]) {
    const ir__unit *u = &r->unit[0];
    bool mod = v->id->op == IND_EXPR_MOD;
    int n = 0;
    if (mod && r->number) {
        k[n++] = -ir__floor_div(v->integer, r->b.integer);
        if (v->integer % r->b.integer) k[n++] = k[0] - 1;
        return n;
    }
    k[n++] = 0;
    if (r->number && v->integer && v->integer % r->b.integer == 0) k[n++] = -(v->integer / r->b.integer);
    if (!mod && u->now > INT64_MIN + 1 && u->now % u->m.c == 0 &&
        !ind__add_overflow(u->now / u->m.c, v->constant, &k[n]) && k[n] &&
        !ind__mul_overflow(k[n], v->id->sign * v->id->divisor, &k[n]))
        n++;
    if (!r->shares || n > 2) return n;
    k[n++] = 1;
    if (n < 4) k[n++] = -1;
    return n;
}

/* Lists the rewriting for every k. */
static void ir__list_shifts(ir__former *w, ir__rounding *r, const ir__rewriting *base) {
    const struct ir__identity *id = base->id;
    int64_t k[4];
    int n = ir__shifts(r, base, k);
    for (int i = 0; i < n; i++) {
        ir__rewriting v = *base;
        if (k[i] > INT32_MAX || k[i] < -INT32_MAX) continue;
        v.k = k[i];
        if ((id->op != IND_EXPR_MOD && ind__sub_overflow(v.constant, id->sign * id->divisor * v.k, &v.constant)) ||
            ind__mul_overflow(v.k, r->b.integer, &v.integer) ||
            ind__add_overflow(v.integer, base->integer, &v.integer) ||
            (id->divisors && ind__add_overflow(v.constant, r->b.integer, &v.constant)))
            continue;
        ir__list_rewriting(w, r, v);
        if (r->residues && v.integer && !ir__style_is_c(w->style)) ir__try_residues(w, r, v);
    }
}

static void ir__try_identity(ir__former *w, ir__rounding *r, const struct ir__identity *id) {
    ir__rewriting v = {.id = id, .integer = r->x.integer, .constant = id->constant, .divisors = id->divisors};
    if ((id->positive && !r->positive) || (id->divisors && r->units == 1 && !r->number)) return;
    if (ind__mul_overflow(v.integer, id->numerator, &v.integer) || ind__add_overflow(v.integer, id->offset, &v.integer))
        return;
    ir__list_shifts(w, r, &v);
    const int64_t integer = v.integer;
    if (r->grain > 1 && r->positive) ir__drop_residue(r, &v);
    if (v.integer != integer) ir__list_shifts(w, r, &v);
}

static void ir__try_identities(ir__former *w, ir__rounding *r, bool mod) {
    r->num_tries = 0;
    for (size_t i = 0; i < sizeof ir__identities / sizeof *ir__identities; i++) {
        const struct ir__identity *id = &ir__identities[i];
        if ((id->op == IND_EXPR_MOD) == mod && (i == 0 || !ir__style_is_c(w->style))) ir__try_identity(w, r, id);
    }
    ir__try_listed(w, r);
}

/* ---- finding roundings to rewrite */

static bool ir__is_rounding(const ir__form *f) {
    return f->op == IND_EXPR_FLOORDIV || f->op == IR__FORM_DIV_CALL || f->op == IND_EXPR_MOD ||
           f->op == IR__FORM_CEILDIV;
}

static bool ir__has_rounding(const ir__poly *p) {
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->t[i].n; k++)
            if (ir__is_rounding(p->t[i].f[k])) return true;
    return false;
}

/* Finds the terms that a number added to the quotient changes: m and, for each term of the divisor, m times that
   term. */
static bool ir__find_units(ir__former *w, const ir__poly *p, ir__rounding *r) {
    int terms = r->b.p.n - (r->b.integer != 0);
    ir__mono one = {1, 0, NULL};
    r->units = 1 + (terms <= IR__MAX_UNITS ? terms : 0);
    r->others = ir__poly_tally(p);
    ir__tally_change(&r->others, &p->t[r->term], -1);
    for (int i = 0; i < r->units; i++) {
        ir__unit *u = &r->unit[i];
        if (!ir__mono_times(w, &r->m, i ? &r->b.p.t[i - 1] : &one, &u->m)) return false;
        u->at = ir__poly_find(w, p, &u->m);
        u->now = u->at < 0 ? 0 : p->t[u->at].c;
        if (u->at >= 0) ir__tally_change(&r->others, &p->t[u->at], -1);
    }
    return true;
}

static bool ir__find_shared(ir__former *w, const ir__rounding *r) {
    if (r->number) return false;
    for (int i = 0; i < r->b.p.n; i++)
        if (!r->b.p.t[i].n || ir__poly_find(w, &r->x.p, &r->b.p.t[i]) >= 0) return true;
    return false;
}

/* The known common divisor of all terms of a sum but the integer. */
static int64_t ir__poly_step(const ir__former *w, const ir__poly *p) {
    int64_t step = 0;
    for (int i = 0; i < p->n; i++) {
        int64_t c = p->t[i].c;
        for (int k = 0; k < p->t[i].n; k++) {
            const ir__form *f = p->t[i].f[k];
            if (f->op == IND_EXPR_SYM)
                c = ir__sat_mul(c, ind_expr_symbol(ir__expr_make(w->context, f->id))->multiple_of);
        }
        if (p->t[i].n) step = ir__gcd64(step, ir__abs_bound(c));
    }
    return step;
}

/* Fills in the fields that follow from x, b, m, value and the term. */
static bool ir__measure_rounding(ir__former *w, const ir__poly *p, ir__rounding *r) {
    ir__poly minus;
    if (!ind__ok(r->x.e) || !ind__ok(r->b.e) || !ind__ok(r->value)) return false;
    if (!(r->x.f = ir__form_of(w, r->x.e)) || !(r->b.f = ir__form_of(w, r->b.e))) return false;
    if (!ir__poly_of_form(w, r->x.f, &r->x.p) || !ir__poly_of_form(w, r->b.f, &r->b.p)) return false;
    if (r->x.p.n > IR__MAX_TERMS_SPLIT || r->b.p.n > IR__MAX_TERMS_SPLIT) return false;
    r->x.integer = ir__poly_integer(&r->x.p);
    r->b.integer = ir__poly_integer(&r->b.p);
    r->number = ind_expr_is_int(r->b.e, NULL);
    if (r->number && r->b.integer == -1) return false; /* stored only if its negation exceeds 64 bits */
    r->positive = r->b.f->lo > 0 || ir__proven_sign(r->b.e) == 1;
    r->nested = w->trying < IR__MAX_TRIED && ir__has_rounding(&r->x.p);
    r->shares = ir__find_shared(w, r);
    const ind_facts *facts = ir__current_facts(w->context);
    r->residues = facts && facts->known.residue.num;
    r->grain = ir__gcd64(ir__gcd64(ir__poly_step(w, &r->x.p), ir__poly_step(w, &r->b.p)), ir__abs_bound(r->b.integer));
    ir__cost plain = ir__poly_cost(&r->x.p);
    r->saved = (ir__cost){plain.ops - r->x.f->ops, plain.chars > r->x.f->chars ? plain.chars - r->x.f->chars : 0};
    minus = r->b.p;
    minus.t = (ir__mono *)ind__arena_copy(&w->arena, minus.t, (size_t)minus.n * sizeof *minus.t);
    if (!minus.t) return false;
    for (int i = 0; i < minus.n; i++)
        if (ind__sub_overflow(0, minus.t[i].c, &minus.t[i].c)) return false;
    r->over[0] = (ir__cost){r->b.f->ops, r->b.f->chars};
    r->over[1] = ir__poly_cost(&minus);
    r->minus[0] = ir__all_negative(&r->b.p);
    r->minus[1] = ir__all_negative(&minus);
    return ir__find_units(w, p, r);
}

/* Without an integer or a sign there is nothing to save. */
static bool ir__worth_rewriting(const ir__rounding *r) {
    bool around = r->x.integer || r->m.c < 0 || ir__all_negative(&r->x.p) || ir__all_negative(&r->b.p);
    for (int i = 0; i < r->units; i++) around = around || r->unit[i].now;
    return around || (r->f->op == IND_EXPR_MOD && r->m.c > 1);
}

/* True if this factor of a term is a quotient that a rewriting could make cheaper; then fills r. */
static bool ir__find_rounding(ir__former *w, const ir__poly *p, int term, const ir__form *f, ir__rounding *r) {
    bool quotient = f->op == IND_EXPR_FLOORDIV || f->op == IR__FORM_DIV_CALL, mod = f->op == IND_EXPR_MOD;
    if (!quotient && (!mod || ir__style_is_c(w->style))) return false;
    ir__mono by = {1, 1, &f};
    *r = (ir__rounding){.term = term, .f = f, .cost = ir__poly_cost(p)};
    r->value = ir__expr_make(w->context, f->id);
    r->x.e = ir__expr_make(w->context, f->arg[0]->id);
    r->b.e = ir__expr_make(w->context, f->arg[1]->id);
    if (!f->id || !f->arg[0]->id || !f->arg[1]->id || !ir__mono_divide(w, &p->t[term], &by, &r->m)) return false;
    return ir__measure_rounding(w, p, r) && ir__worth_rewriting(r);
}

/* c * (x % b) = (c*x) % (c*b), if that saves operations. */
static void ir__try_scaled(ir__former *w, const ir__poly *p, ir__rounding *r) {
    ir__rounding s = *r;
    if (s.m.c == 1 || s.m.c == -1 || s.m.c == INT64_MIN) return;
    ind_expr c = ind_int(w->context, s.m.c < 0 ? -s.m.c : s.m.c);
    s.m.c = s.m.c < 0 ? -1 : 1;
    s.x.e = ind_expr_mul(s.x.e, c);
    s.b.e = ind_expr_mul(s.b.e, c);
    s.value = ind_expr_mul(s.value, c);
    s.cost.chars = 0;
    s.best.f = NULL;
    if (!ir__measure_rounding(w, p, &s)) return;
    ir__try_identities(w, &s, true);
    if (s.best.f) *r = s;
}

/* Tries (x // by) // (b // by), if by divides b and is nonnegative. */
static void ir__try_inner(ir__former *w, const ir__poly *p, ir__rounding *r, ind_expr x, ind_expr b, ind_expr by) {
    int64_t lo, hi;
    ir__rounding s = *r;
    if (!ind__ok(by) || (ind_expr_is_int(by, &lo) && (lo == 1 || lo == -1))) return;
    ind_expr_bounds(by, &lo, &hi);
    if (hi < 0) by = ind_expr_neg(by);
    s.b.e = ind_expr_floordiv(b, by);
    if (!ind__ok(s.b.e) || (ind_expr_is_int(s.b.e, &lo) && (lo == 1 || lo == -1))) return;
    s.x.e = ind_expr_floordiv(x, by);
    s.best.f = NULL;
    w->trying++;
    if (ir__measure_rounding(w, p, &s)) ir__try_identities(w, &s, false);
    w->trying--;
    if (s.best.f) *r = s;
}

/* True if x // (by*..) may become smaller by dividing by `by` first. */
static bool ir__shares_factor(const ir__poly *x, const ir__mono *by) {
    for (int i = 0; i < x->n; i++)
        for (int k = 0; k < by->n; k++)
            if (!x->t[i].n || ir__same_factor(&x->t[i], by->f[k])) return true;
    return ir__poly_integer(x) != 0;
}

/* x // (b*c) = (x // b) // c for b > 0, if x // b simplifies. Tries each common factor of the divisor's terms, and the
   divisor without it. */
static void ir__try_nested(ir__former *w, const ir__poly *p, ir__rounding *r) {
    const ind_expr x = r->x.e, b = r->b.e;
    ir__mono content;
    ir__poly q = r->b.p;
    if (r->number || r->x.p.n < 2 || w->trying >= IR__MAX_TRIED) return;
    q.t = (ir__mono *)ind__arena_copy(&w->arena, q.t, (size_t)q.n * sizeof *q.t);
    if (!q.t || !ir__make_primitive(w, &q, &content) || content.n > IR__MAX_UNITS) return;
    if (!ir__shares_factor(&r->x.p, &content)) return;
    for (int i = 0; i <= content.n; i++) {
        ind_expr by = i < content.n ? ir__form_value(w, content.f[i]) : ind_int(w->context, content.c);
        if (!ind__ok(by) || (i && i < content.n && content.f[i] == content.f[i - 1])) continue;
        ir__try_inner(w, p, r, x, b, by);
        if (q.n > 1 || content.n + (content.c != 1) > 2) ir__try_inner(w, p, r, x, b, ind_expr_floordiv(b, by));
    }
}

static void ir__rewrite_rounding(ir__former *w, const ir__poly *p, ir__rounding *r) {
    bool mod = r->f->op == IND_EXPR_MOD, c = ir__style_is_c(w->style);
    ir__try_identities(w, r, mod);
    if (c) return;
    if (mod)
        ir__try_scaled(w, p, r);
    else
        ir__try_nested(w, p, r);
}

/* Puts the cheapest rewriting into the sum, the integer last; the term keeps its index. */
static bool ir__apply_rounding(ir__former *w, ir__poly *p, const ir__rounding *r) {
    ir__poly out = ir__poly_new(w, p->n + r->units);
    ir__mono one = {r->best.id->sign, 1, (const ir__form **)ind__arena_copy(&w->arena, &r->best.f, sizeof r->best.f)};
    ir__mono integer = {0, 0, NULL};
    if (!out.t || !one.f || !ir__mono_times(w, &r->m, &one, &p->t[r->term])) return false;
    for (int i = 0; i < p->n; i++) out.t[i] = p->t[i];
    out.n = p->n;
    for (int i = 0; i < out.n; i++) { /* such a term may already exist */
        if (i == r->term || !ir__mono_alike(w, &out.t[i], &out.t[r->term])) continue;
        if (ind__add_overflow(out.t[r->term].c, out.t[i].c, &out.t[r->term].c)) return false;
        out.t[i].c = 0;
    }
    for (int i = 0; i < r->units; i++) {
        const ir__unit *u = &r->unit[i];
        int at = u->at < 0 ? out.n++ : u->at;
        out.t[at] = u->m;
        out.t[at].c = u->now + u->m.c * (i ? r->best.divisors : r->best.constant); /* fits, by ir__cost_around */
    }
    p->n = 0;
    p->t = out.t;
    for (int i = 0; i < out.n; i++) {
        if (!out.t[i].c) continue;
        if (out.t[i].n)
            p->t[p->n++] = out.t[i];
        else
            integer = out.t[i];
    }
    if (integer.c || !p->n) p->t[p->n++] = integer;
    return true;
}

/* Rewrites the quotients of a sum one by one, each to its cheapest form, until none changes. Every change makes the sum
   cheaper. */
static bool ir__rewrite_roundings(ir__former *w, ir__poly *p) {
    bool changed = p->n <= IR__MAX_FORM_TERMS;
    for (int pass = 0; changed && pass < IR__MAX_PASSES; pass++) {
        changed = false;
        for (int i = 0; i < p->n; i++) {
            for (int k = 0; i < p->n && k < p->t[i].n; k++) {
                ir__rounding r;
                if (!ir__find_rounding(w, p, i, p->t[i].f[k], &r)) continue;
                ir__rewrite_rounding(w, p, &r);
                if (!r.best.f) continue;
                if (!ir__apply_rounding(w, p, &r)) return false;
                changed = true;
                k = -1; /* the factors have moved */
            }
        }
    }
    return true;
}

/* ======================================================================================== src/ir/expr/choose_form.c */
/* ---- choosing */

/* The expression that the constructors build from a form, as the parser would. Invalid if they fail. */
static ind_expr ir__form_value(ir__former *w, const ir__form *f) {
    ind_context *c = w->context;
    if (f->id) return ir__expr_make(c, f->id);
    if (f->op == IND_EXPR_INT) return ind_int(c, f->value);
    ind_expr local[8], *v = local, r = ir__expr_none(c);
    if (f->num > 8 && !(v = (ind_expr *)ind__arena_alloc(&w->arena, (size_t)f->num * sizeof *v))) return r;
    for (int i = 0; i < f->num; i++)
        if (!ind__ok(v[i] = ir__form_value(w, f->arg[i]))) return r;
    switch (f->op) {
    case IR__FORM_NEG: return ind_expr_neg(v[0]);
    case IND_EXPR_FLOORDIV: return ind_expr_floordiv(v[0], v[1]);
    case IR__FORM_CEILDIV: return ind_expr_ceildiv(v[0], v[1]);
    case IND_EXPR_MOD: return ind_expr_mod(v[0], v[1]);
    default: return ir__make_nary(f->op, c, v, f->num);
    }
}

/* The form of a sum at one level of rewriting; NULL if there is none. */
static const ir__form *ir__form_at_level(ir__former *w, const ir__poly *sum, int level) {
    ir__poly p = *sum;
    w->level = level;
    if (level == 0) {
        p.t = (ir__mono *)ind__arena_copy(&w->arena, p.t, (size_t)p.n * sizeof *p.t);
        if (!p.t || !ir__rewrite_roundings(w, &p)) return NULL;
        w->level = level; /* the operands have set their own level */
    }
    const ir__form *f = ir__form_sum(w, &p, 0);
    if (!f || f->depth > IR__MAX_FORM_DEPTH) return level < 2 ? NULL : f;
    ir__form *own = (ir__form *)ind__arena_copy(&w->arena, f, sizeof *f); /* a copy, as f may be a shared operand */
    if (!own || !(own->poly = (const ir__poly *)ind__arena_copy(&w->arena, &p, sizeof p))) return NULL;
    return own;
}

/* True if f may be printed. Text: f must read back as e. C: no intermediate result may leave the type. */
static bool ir__form_allowed(ir__former *w, const ir__form *f, ind_expr e) {
    if (ir__style_is_c(w->style)) return f->fits;
    ind_expr value = ir__form_value(w, f);
    w->refused = w->refused || !ind__ok(value);
    return value.id == e.id;
}

static bool ir__form_cheaper(const ir__form *f, const ir__form *than) {
    return f && ir__cheaper((ir__cost){f->ops, f->chars}, (ir__cost){than->ops, than->chars});
}

static bool ir__has_lattice(const ir__poly *p) {
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->t[i].n; k++)
            if (p->t[i].f[k]->op == IND_EXPR_MIN || p->t[i].f[k]->op == IND_EXPR_MAX) return true;
    return false;
}

/* The cheapest allowed form of the levels; the stored form is always allowed. If a sum with rewritten roundings does
   not read back, a second try reads back each rewriting and rejects those that fail. */
static const ir__form *ir__form_numeric(ir__former *w, ind_expr e) {
    ir__poly p;
    if (!ir__poly_of(w, e, &p)) return NULL;
    const ir__form *plain = ir__form_at_level(w, &p, 2), *best = plain;
    bool fixed = ind_expr_num_args(e) > IR__MAX_FORM_TERMS || w->style->stored, careful = w->careful;
    int first = p.n > 1 || ir__has_lattice(&p) ? 1 : 0, last = ir__has_rounding(&p) ? 0 : 1;
    for (int level = first; plain && level >= last && !fixed; level--) {
        const ir__form *f = ir__form_at_level(w, &p, level);
        if (!ir__form_cheaper(f, best)) continue;
        bool allowed = ir__form_allowed(w, f, e);
        if (!allowed && level == 0 && !careful && !ir__style_is_c(w->style)) {
            w->careful = true;
            f = ir__form_at_level(w, &p, level);
            w->careful = false;
            allowed = ir__form_cheaper(f, best) && ir__form_allowed(w, f, e);
        }
        if (allowed) best = f;
    }
    if (!best) return NULL;
    ir__form *own = (ir__form *)ind__arena_copy(&w->arena, best, sizeof *best);
    if (!own) return NULL;
    own->id = e.id;
    own->lo = ir__node_of(e)->lo;
    own->hi = ir__node_of(e)->hi;
    own->fits = true;
    return own;
}

/* ---- comparisons: 0 < d, 0 <= d, 0 == d, with the negative terms of d on the left side */

typedef struct ir__comparison {
    ind_expr e;
    const ir__poly *d; /* without its integer */
    const ir__form *best;
} ir__comparison;

/* Tries d + integer with the terms in `left` (bit mask) on the left side, and with the integer there if
   integer_left. */
static void ir__try_partition(ir__former *w, ir__comparison *v, int op, int64_t integer, uint32_t left,
                              bool integer_left) {
    ir__poly side[2] = {ir__poly_new(w, v->d->n + 1), ir__poly_new(w, v->d->n + 1)};
    if (!side[0].t || !side[1].t || (integer_left && integer == INT64_MIN)) return;
    for (int i = 0; i < v->d->n; i++) {
        bool to_left = left >> i & 1;
        ir__mono m = v->d->t[i];
        if (to_left && ind__sub_overflow(0, m.c, &m.c)) return;
        ir__poly *s = &side[!to_left];
        s->t[s->n++] = m;
    }
    for (int i = 0; i < 2; i++) {
        bool here = integer_left == (i == 0);
        if (side[i].n && (!here || !integer)) continue;
        side[i].t[side[i].n++] = (ir__mono){here ? (i ? integer : -integer) : 0, 0, NULL};
    }
    if (!ir__cheaper((ir__cost){ir__poly_cost(&side[0]).ops + ir__poly_cost(&side[1]).ops + 1, 0},
                     (ir__cost){v->best->ops, 1}))
        return;
    const ir__form *arg[2] = {ir__form_sum(w, &side[0], 0), ir__form_sum(w, &side[1], 0)};
    const ir__form *f = ir__form_new(w, op, arg, 2);
    if (f && ir__form_cheaper(f, v->best) && ir__form_allowed(w, f, v->e)) v->best = f;
}

/* Tries op with the negative terms on the left side. If one side would be empty, tries each single term there. */
static void ir__try_comparison(ir__former *w, ir__comparison *v, int op, int64_t integer) {
    uint32_t negative = 0, all = (1u << v->d->n) - 1;
    for (int i = 0; i < v->d->n; i++)
        if (v->d->t[i].c < 0) negative |= 1u << i;
    ir__try_partition(w, v, op, integer, negative, false);
    if (integer) ir__try_partition(w, v, op, integer, negative, true);
    for (int i = 0; i < v->d->n && !integer; i++) {
        if (!negative) ir__try_partition(w, v, op, integer, 1u << i, false);
        if (negative == all) ir__try_partition(w, v, op, integer, all & ~(1u << i), false);
    }
}

/* The cheapest form of a comparison; f, which compares the two sides as stored, if nothing is cheaper. */
static const ir__form *ir__form_comparison(ir__former *w, ind_expr e, const ir__form *f) {
    ir__comparison v = {e, NULL, f};
    ir__poly d;
    ind_expr less = ind_expr_sub(ind_expr_arg(e, 1), ind_expr_arg(e, 0));
    int64_t integer, op = ind_expr_query_kind(e), level = w->level;
    w->refused = w->refused || !ind__ok(less);
    if (!ind__ok(less) || !ir__poly_of(w, less, &d) || d.n > 16) return f;
    w->level = 0;
    if (!ir__rewrite_roundings(w, &d)) return f;
    w->level = 0;
    integer = ir__poly_integer(&d);
    if (integer) d.n--;
    v.d = &d;
    ir__try_comparison(w, &v, (int)op, integer);
    if (op == IND_EXPR_LT && integer > INT64_MIN) ir__try_comparison(w, &v, IND_EXPR_LE, integer - 1);
    if (op == IND_EXPR_LE && integer < INT64_MAX) ir__try_comparison(w, &v, IND_EXPR_LT, integer + 1);
    w->level = (int)level;
    if (v.best == f) return f;
    ir__form *own = (ir__form *)ind__arena_copy(&w->arena, v.best, sizeof *own);
    if (own) own->id = e.id;
    return own;
}

static const ir__form *ir__form_of(ir__former *w, ind_expr e) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    bool numeric = kind == IND_EXPR_ADD || kind == IND_EXPR_MUL || kind == IND_EXPR_FLOORDIV || kind == IND_EXPR_MOD;
    if (!numeric) return ir__form_atom(w, e);
    const ir__form *known = ir__form_find(w, 2 * e.id + 1);
    return known ? known : ir__form_put(w, 2 * e.id + 1, ir__form_numeric(w, e));
}

/* ============================================================================================== src/ir/expr/print.c */
/* ---- step two: writing */

static void ir__write_int(ind__text *t, int64_t v, const ir__expr_style *style) {
    bool c = ir__style_is_c(style), wide = style->form != IND_PRINT_CUDA32;
    if (c && v == INT64_MIN)
        ind__textf(t, "(-9223372036854775807ll - 1)");
    else if (c && !wide && v == INT32_MIN)
        ind__textf(t, "(-2147483647 - 1)");
    else
        ind__textf(t, "%lld%s", (long long)v, c && (wide || v > INT32_MAX || v < INT32_MIN) ? "ll" : "");
}

/* s0 as s_{0}, Batch as \mathit{Batch}. */
static void ir__write_latex_name(ind__text *t, const char *name) {
    size_t n = strlen(name), digits = 0;
    while (digits + 1 < n && name[n - digits - 1] >= '0' && name[n - digits - 1] <= '9') digits++;
    n -= digits;
    if (n > 1) ind__textf(t, "\\mathit{");
    for (size_t i = 0; i < n; i++) ind__textf(t, "%s%c", name[i] == '_' ? "\\" : "", name[i]);
    if (n > 1) ind__textf(t, "}");
    if (digits) ind__textf(t, "_{%s}", name + n);
}

static void ir__write_symbol(ind__text *t, ind_expr e, const ir__expr_style *style) {
    if (style->name)
        style->name(t, e, style->user);
    else if (style->form == IND_PRINT_LATEX)
        ir__write_latex_name(t, ind_expr_symbol(e)->name);
    else
        ind__textf(t, "%s", ind_expr_symbol(e)->name);
}

static void ir__write_form(ind__text *t, const ir__form *f, const ir__expr_style *style, int outer);

/* Writes operand i and the text before it. C has no minimum of more than two: ind_min(ind_min(a, b), c). */
static void ir__write_operand(ind__text *t, const ir__form *f, int i, const ir__expr_style *style) {
    const ir__op_format *row = ir__op_format_of(style, f);
    bool lattice = f->op == IND_EXPR_MIN || f->op == IND_EXPR_MAX, where = f->op == IND_EXPR_WHERE;
    const ir__form *a = f->arg[where && style->form == IND_PRINT_LATEX && i < 2 ? 1 - i : i]; /* value if condition */
    ir__form otherwise = {.op = IR__FORM_OTHERWISE};
    if (f->op == IND_EXPR_ADD && i && a->op == IR__FORM_NEG) {
        ind__textf(t, " - ");
        ir__write_form(t, a->arg[0], style, 6);
        return;
    }
    if (i) ind__textf(t, "%s", where && i == 2 ? ir__op_format_of(style, &otherwise)->between : row->between);
    ir__write_form(t, a, style, ir__operand_strength(row, f, i));
    if (lattice && i && i + 1 < f->num && ir__style_is_c(style)) ind__textf(t, "%s", row->close);
}

static void ir__write_form(ind__text *t, const ir__form *f, const ir__expr_style *style, int outer) {
    const ir__op_format *row = ir__op_format_of(style, f);
    bool parens = ir__strength(row, f) < outer, latex = style->form == IND_PRINT_LATEX;
    bool nested = (f->op == IND_EXPR_MIN || f->op == IND_EXPR_MAX) && ir__style_is_c(style);
    if (parens) ind__textf(t, latex ? "\\left(" : "(");
    if (f->op == IND_EXPR_INT) {
        ir__write_int(t, f->value, style);
    } else if (f->op == IND_EXPR_SYM) {
        ir__write_symbol(t, ir__expr_make(t->context, f->id), style);
    } else {
        for (int i = nested ? f->num - 1 : 1; i > 0; i--) ind__textf(t, "%s", row->open);
        for (int i = 0; i < f->num; i++) ir__write_operand(t, f, i, style);
        ind__textf(t, "%s", row->close);
    }
    if (parens) ind__textf(t, latex ? "\\right)" : ")");
}

/* The form to write; NULL with the reason set. */
static const ir__form *ir__form_checked(ir__former *w, ind_expr e) {
    ind_context *c = w->context;
    ind__state *s = ind__state_of(c);
    const ind_status before = s->status;
    const uint32_t refusals = s->refusals;
    const size_t length = strlen(s->text) + 1;
    char *text = (char *)ind__arena_copy(&w->arena, s->text, length);
    const ir__form *f = text ? ir__form_of(w, e) : NULL;
    if (s->refusals != refusals) return NULL; /* the text must not depend on memory */
    if (f && f->chars > IR__MAX_TEXT) {
        ind__fail(c, IND_ERROR_LIMIT, "the text of an expression is longer than %d characters", IR__MAX_TEXT);
        return NULL;
    }
    if (!w->refused) return f;
    s->status = before; /* failures of trial forms leave no trace */
    memcpy(s->text, text, length);
    return f;
}

/* Fast path for numbers and symbols, which are most of the text: they need no choice of form. */
static bool ir__text_leaf(ind__text *t, ind_expr e, const ir__expr_style *style) {
    const ir__expr_node *n = ir__node_of(e);
    if (n->kind != IND_EXPR_INT && n->kind != IND_EXPR_SYM) return false;
    ir__form f = {.op = (uint8_t)n->kind, .fits = true, .id = e.id, .value = n->lo, .lo = n->lo, .hi = n->hi};
    ir__write_form(t, &f, style, 0);
    return true;
}

static void ir__text_styled(ind__text *t, ind_expr e, const ir__expr_style *style) {
    if (!ind__ok(e)) {
        ind__textf(t, "<invalid>");
        return;
    }
    if (ir__text_leaf(t, e, style)) return;
    ir__former w = {.context = e.context, .style = style, .arena = {.context = e.context}};
    w.limit = style->form == IND_PRINT_CUDA32 ? INT32_MAX : INT64_MAX - 1;
    const ir__form *f = ir__form_checked(&w, e);
    if (f)
        ir__write_form(t, f, style, 0);
    else
        t->failed = true;
    ind__free(e.context, w.memo);
    ind__arena_free(&w.arena);
}

void ind__text_expr(ind__text *t, ind_expr e) {
    ir__expr_style style = {.form = IND_PRINT_TEXT};
    ir__text_styled(t, e, &style);
}

void ind__text_expr_c(ind__text *t, ind_expr e, bool wide, ind__symbol_name_fn name, void *user) {
    ir__expr_style style = {wide ? IND_PRINT_CUDA64 : IND_PRINT_CUDA32, true, name, user};
    ir__text_styled(t, e, &style);
}

size_t ind_expr_print_as(ind_expr e, ind_print form, char *buffer, size_t size) {
    if (!buffer) size = 0;
    ind__text t = {.context = e.context};
    ir__expr_style style = {.form = form};
    if (ind__ok(e)) {
        ind__lock(e.context);
        ir__text_styled(&t, e, &style);
        ind__unlock(e.context);
    }
    const char *text = !ind__ok(e) ? "<invalid>" : !t.failed ? t.data : "<too long>";
    if (t.failed && ind_error_status(e.context) != IND_ERROR_LIMIT) text = "<no memory>";
    size_t length = strlen(text);
    if (size) {
        size_t kept = length < size ? length : size - 1;
        memcpy(buffer, text, kept);
        buffer[kept] = 0;
    }
    if (ind__ok(e)) ind__text_free(&t);
    return length;
}

size_t ind_expr_print(ind_expr e, char *buffer, size_t size) {
    return ind_expr_print_as(e, IND_PRINT_TEXT, buffer, size);
}

/* ============================================================================================== src/ir/expr/parse.c */
/* ---- reading: operator precedence with explicit stacks, so nesting of the text does not use the C stack. A chain a +
   b - c .. is collected and built once, which makes long sums linear. */

#define IR__MAX_NESTING   1000  /* open operators and parentheses; more than any printed text has */
#define IR__MAX_ARGUMENTS 65536 /* of Min and Max */
#define IR__MAX_EXPONENT  64

enum { /* operations of the text that are neither kinds nor forms */
       IR__READ_SUB = IR__NUM_FORM_OPS,
       IR__READ_POWER,
       IR__READ_PLUS,
       IR__READ_ABS,
       IR__READ_MODULAR,
       IR__READ_GROUP,
       IR__READ_CALL
};

typedef struct ir__function {
    const char *name;
    int least, most; /* arguments */
    int op;
    bool swap; /* Gt(a, b) is Lt(b, a) */
} ir__function;

/* Functions that may be called. The names after the mark are those of other tools. */
static const ir__function ir__functions[] = {
    {"Min", 2, IR__MAX_ARGUMENTS, IND_EXPR_MIN, false},
    {"Max", 2, IR__MAX_ARGUMENTS, IND_EXPR_MAX, false},
    {"Where", 3, 3, IND_EXPR_WHERE, false},
    {"CeilDiv", 2, 2, IR__FORM_CEILDIV, false},
    {"ModularIndexing", 3, 3, IR__READ_MODULAR, false},
    /* ---- */
    {"FloorDiv", 2, 2, IND_EXPR_FLOORDIV, false},
    {"CleanDiv", 2, 2, IND_EXPR_FLOORDIV, false},
    {"Mod", 2, 2, IND_EXPR_MOD, false},
    {"PythonMod", 2, 2, IND_EXPR_MOD, false},
    {"Abs", 1, 1, IR__READ_ABS, false},
    {"Identity", 1, 1, IR__READ_PLUS, false},
    {"Eq", 2, 2, IND_EXPR_EQ, false},
    {"Ne", 2, 2, IND_EXPR_NE, false},
    {"Lt", 2, 2, IND_EXPR_LT, false},
    {"Le", 2, 2, IND_EXPR_LE, false},
    {"Gt", 2, 2, IND_EXPR_LT, true},
    {"Ge", 2, 2, IND_EXPR_LE, true},
    {"And", 2, IR__MAX_ARGUMENTS, IND_EXPR_AND, false},
    {"Or", 2, IR__MAX_ARGUMENTS, IND_EXPR_OR, false},
    {"Not", 1, 1, IND_EXPR_NOT, false},
};

typedef struct ir__infix {
    const char *token;
    int strength, op;
    bool swap;
} ir__infix;

static const ir__infix ir__infixes[] = {
    {"or", 1, IND_EXPR_OR, false},       {"and", 2, IND_EXPR_AND, false},  {"==", 4, IND_EXPR_EQ, false},
    {"!=", 4, IND_EXPR_NE, false},       {"<=", 4, IND_EXPR_LE, false},    {">=", 4, IND_EXPR_LE, true},
    {"<", 4, IND_EXPR_LT, false},        {">", 4, IND_EXPR_LT, true},      {"+", 5, IND_EXPR_ADD, false},
    {"-", 5, IR__READ_SUB, false},       {"**", 8, IR__READ_POWER, false}, {"*", 6, IND_EXPR_MUL, false},
    {"//", 6, IND_EXPR_FLOORDIV, false}, {"%", 6, IND_EXPR_MOD, false},
};

/* An operator that awaits its right operand, or an open parenthesis. */
typedef struct ir__open {
    int op, strength; /* strength 0: a parenthesis */
    bool swap, minus; /* minus: ADD whose next value is subtracted */
    const ir__function *function;
    uint32_t values; /* index of the first of its values */
    const char *at;  /* its token */
} ir__open;

typedef struct ir__expr_parser {
    ind_context *context;
    const char *text, *at;
    ind__find_symbol_fn find;
    void *user;
    ir__open *open;
    uint32_t num_open, cap_open;
    ind_expr *value;
    uint32_t num_values, cap_values;
    const char **before; /* per value: the operator before it */
    uint32_t num_before, cap_before;
    bool operand; /* expects an operand next */
} ir__expr_parser;

static bool ir__name_char(char c, bool first) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!first && c >= '0' && c <= '9');
}

static void ir__skip_space(ir__expr_parser *p) {
    while (*p->at == ' ' || *p->at == '\t') p->at++;
}

/* Records a failure at `at`; returns false. */
static bool ir__parse_fail(ir__expr_parser *p, const char *at, ind_status status, const char *what) {
    p->at = at;
    ind__fail(p->context, status, "%s", what);
    return false;
}

static bool ir__push_value(ir__expr_parser *p, ind_expr e, const char *at) {
    if (!ind__ok(e)) {
        p->at = at;
        return false;
    }
    ind_expr *v = IND__PUSH(p->context, ind_expr, p->value, p->num_values, p->cap_values);
    const char **before = v ? IND__PUSH(p->context, const char *, p->before, p->num_before, p->cap_before) : NULL;
    if (!before) return false;
    *v = e;
    *before = p->num_open ? p->open[p->num_open - 1].at : at;
    p->operand = false;
    return true;
}

static bool ir__push_open(ir__expr_parser *p, int op, int strength, const char *at) {
    if (p->num_open == IR__MAX_NESTING) {
        p->at = at;
        ind__fail(p->context, IND_ERROR_LIMIT, "the expression is nested more than %d levels deep", IR__MAX_NESTING);
        return false;
    }
    ir__open *o = IND__PUSH(p->context, ir__open, p->open, p->num_open, p->cap_open);
    if (!o) return false;
    o->op = op;
    o->strength = strength;
    o->at = at;
    o->values = p->num_values;
    p->operand = true;
    return true;
}

/* ---- building */

/* Combines conditions as a balanced tree, so a long chain does not become a deep expression. */
static ind_expr ir__balanced_tree(int op, const ind_expr *v, int n) {
    if (n == 1) return v[0];
    ind_expr a = ir__balanced_tree(op, v, n - n / 2), b = ir__balanced_tree(op, v + (n - n / 2), n / 2);
    return op == IND_EXPR_AND ? ind_expr_and(a, b) : ind_expr_or(a, b);
}

static ind_expr ir__power(ind_expr base, ind_expr exponent) {
    int64_t n;
    if (!ind_expr_is_int(exponent, &n) || n < 0 || n > IR__MAX_EXPONENT) {
        ind__fail(base.context, IND_ERROR_PARSE, "the exponent has to be a number from 0 to %d", IR__MAX_EXPONENT);
        return ir__expr_none(base.context);
    }
    ind_expr factor[IR__MAX_EXPONENT];
    for (int64_t i = 0; i < n; i++) factor[i] = base;
    return ind_expr_product(base.context, factor, (int)n);
}

static ind_expr ir__make_nary(int op, ind_context *c, const ind_expr *v, int n) {
    switch (op) {
    case IND_EXPR_ADD: return ind_expr_sum(c, v, n);
    case IND_EXPR_MUL: return ind_expr_product(c, v, n);
    case IND_EXPR_MIN: return ind_expr_min_of(c, v, n);
    case IND_EXPR_MAX: return ind_expr_max_of(c, v, n);
    case IND_EXPR_AND:
    case IND_EXPR_OR: return ir__balanced_tree(op, v, n);
    case IND_EXPR_FLOORDIV: return ind_expr_floordiv(v[0], v[1]);
    case IND_EXPR_MOD: return ind_expr_mod(v[0], v[1]);
    case IND_EXPR_EQ: return ind_expr_eq(v[0], v[1]);
    case IND_EXPR_NE: return ind_expr_ne(v[0], v[1]);
    case IND_EXPR_LT: return ind_expr_lt(v[0], v[1]);
    case IND_EXPR_LE: return ind_expr_le(v[0], v[1]);
    case IND_EXPR_NOT: return ind_expr_not(v[0]);
    case IND_EXPR_WHERE: return ind_expr_where(v[0], v[1], v[2]);
    case IR__FORM_NEG: return ind_expr_neg(v[0]);
    case IR__FORM_CEILDIV: return ind_expr_ceildiv(v[0], v[1]);
    case IR__READ_MODULAR: return ind_expr_modular(v[0], v[1], v[2]);
    case IR__READ_ABS: return ind_expr_max(v[0], ind_expr_neg(v[0]));
    case IR__READ_POWER: return ir__power(v[0], v[1]);
    default: return v[0];
    }
}

/* Locates the failure of a sum or product of n values: the operator before the first value that makes it fail. */
static const char *ir__failing_operator(ir__expr_parser *p, const ir__open *o, int n) {
    int good = 1, bad = n;
    while (bad - good > 1) {
        int middle = good + (bad - good) / 2;
        if (ind__ok(ir__make_nary(o->op, p->context, p->value + o->values, middle)))
            good = middle;
        else
            bad = middle;
    }
    if (n > 2) ir__make_nary(o->op, p->context, p->value + o->values, bad); /* sets the error message */
    return p->before[o->values + (uint32_t)bad - 1];
}

/* Subtraction: negates the last value of an open sum. If it has no 64-bit negation, it is subtracted from the sum of
   the values before it, which become 0. */
static bool ir__settle_minus(ir__expr_parser *p, ir__open *o) {
    if (!o->minus) return true;
    o->minus = false;
    ind_expr *last = &p->value[p->num_values - 1];
    bool failed;
    ind_expr minus = ir__quiet_neg(*last, &failed);
    if (!ind__ok(minus) && !failed) {
        ind_expr *first = &p->value[o->values];
        minus = ind_expr_sub(ind_expr_sum(p->context, first, (int)(last - first)), *last);
        while (first < last) *first++ = ind_int(p->context, 0);
    }
    *last = minus;
    if (!ind__ok(*last)) p->at = p->before[p->num_values - 1];
    return ind__ok(*last);
}

/* Builds the operator on top of the stack from its values. */
static bool ir__reduce(ir__expr_parser *p) {
    ir__open o = p->open[p->num_open - 1];
    if (!ir__settle_minus(p, &o)) return false;
    ind_expr *v = p->value + o.values;
    int n = (int)(p->num_values - o.values);
    if (o.swap && n == 2) {
        ind_expr first = v[0];
        v[0] = v[1];
        v[1] = first;
    }
    ind_expr e = ir__make_nary(o.op, p->context, v, n);
    if (!ind__ok(e)) {
        bool chain = o.op == IND_EXPR_ADD || o.op == IND_EXPR_MUL;
        p->at = chain && n > 1 ? ir__failing_operator(p, &o, n) : o.at;
        return false;
    }
    v[0] = e;
    p->num_open--;
    p->num_values = p->num_before = o.values + 1;
    p->before[o.values] = p->num_open ? p->open[p->num_open - 1].at : o.at;
    return true;
}

/* Builds all operators that bind more strongly than this. */
static bool ir__reduce_above(ir__expr_parser *p, int strength) {
    while (p->num_open && p->open[p->num_open - 1].strength > strength)
        if (!ir__reduce(p)) return false;
    return true;
}

/* ---- operands */

/* 2^63 is only valid after a minus sign. */
static bool ir__parse_least_integer(ir__expr_parser *p, const char *begin) {
    bool minus = p->num_open && p->open[p->num_open - 1].op == IR__FORM_NEG;
    ir__skip_space(p);
    if (!minus || (p->at[0] == '*' && p->at[1] == '*'))
        return ir__parse_fail(p, begin, IND_ERROR_OVERFLOW, "the number exceeds 64 bits");
    p->num_open--;
    return ir__push_value(p, ind_int(p->context, INT64_MIN), begin);
}

static bool ir__parse_number(ir__expr_parser *p) {
    const uint64_t most = (uint64_t)INT64_MAX + 1; /* after a minus sign */
    uint64_t v = 0;
    const char *begin = p->at;
    for (; *p->at >= '0' && *p->at <= '9'; p->at++) {
        const uint64_t digit = (uint64_t)(*p->at - '0');
        if (v > (most - digit) / 10) return ir__parse_fail(p, begin, IND_ERROR_OVERFLOW, "the number exceeds 64 bits");
        v = v * 10 + digit;
    }
    if (v > (uint64_t)INT64_MAX) return ir__parse_least_integer(p, begin);
    return ir__push_value(p, ind_int(p->context, (int64_t)v), begin);
}

static bool ir__word_is(const char *name, size_t length, const char *word) {
    return strlen(word) == length && !memcmp(name, word, length);
}

static bool ir__parse_call(ir__expr_parser *p, const char *name, size_t length) {
    const ir__function *f = NULL;
    for (size_t i = 0; i < sizeof ir__functions / sizeof *ir__functions; i++)
        if (ir__word_is(name, length, ir__functions[i].name)) f = &ir__functions[i];
    if (!f) {
        p->at = name;
        ind__fail(p->context, IND_ERROR_PARSE,
                  "unknown function %.*s; known are Min, Max, Where, CeilDiv and ModularIndexing",
                  (int)(length < 64 ? length : 64), name);
        return false;
    }
    p->at++;
    if (!ir__push_open(p, IR__READ_CALL, 0, name)) return false;
    p->open[p->num_open - 1].function = f;
    return true;
}

static bool ir__parse_not(ir__expr_parser *p, const char *name) {
    if (p->num_open && p->open[p->num_open - 1].strength > 3)
        return ir__parse_fail(p, name, IND_ERROR_PARSE, "not binds less than the operator before it: write (not ..)");
    return ir__push_open(p, IND_EXPR_NOT, 3, name);
}

static bool ir__parse_name(ir__expr_parser *p) {
    const char *name = p->at;
    while (ir__name_char(*p->at, p->at == name)) p->at++;
    size_t length = (size_t)(p->at - name);
    if (ir__word_is(name, length, "not")) return ir__parse_not(p, name);
    if (ir__word_is(name, length, "and") || ir__word_is(name, length, "or"))
        return ir__parse_fail(p, name, IND_ERROR_PARSE, "expected a number, a declared size or '('");
    const char *after = p->at;
    ir__skip_space(p);
    if (*p->at == '(') return ir__parse_call(p, name, length);
    p->at = after;
    ind_expr e = p->find ? p->find(name, length, p->user) : ir__expr_none(p->context);
    if (ind__ok(e)) return ir__push_value(p, e, name);
    bool word = ir__word_is(name, length, "True") || ir__word_is(name, length, "False");
    if (word) return ir__push_value(p, ind_int(p->context, *name == 'T'), name);
    p->at = name;
    ind__fail(p->context, IND_ERROR_PARSE, "size %.*s is not declared", (int)(length < 64 ? length : 64), name);
    return false;
}

static bool ir__parse_operand(ir__expr_parser *p) {
    const char *at = p->at;
    if (*at >= '0' && *at <= '9') return ir__parse_number(p);
    if (ir__name_char(*at, true)) return ir__parse_name(p);
    if (*at != '-' && *at != '+' && *at != '(')
        return ir__parse_fail(p, at, IND_ERROR_PARSE, "expected a number, a declared size or '('");
    p->at++;
    if (*at == '(') return ir__push_open(p, IR__READ_GROUP, 0, at);
    return ir__push_open(p, *at == '-' ? IR__FORM_NEG : IR__READ_PLUS, 7, at);
}

/* ---- operators */

static const ir__infix *ir__take_infix(ir__expr_parser *p) {
    for (size_t i = 0; i < sizeof ir__infixes / sizeof *ir__infixes; i++) {
        const char *token = ir__infixes[i].token;
        size_t n = strlen(token);
        if (strncmp(p->at, token, n)) continue;
        if (ir__name_char(token[0], true) && ir__name_char(p->at[n], false)) continue;
        p->at += n;
        return &ir__infixes[i];
    }
    return NULL;
}

static bool ir__is_nary(int op) {
    return op == IND_EXPR_ADD || op == IND_EXPR_MUL || op == IND_EXPR_AND || op == IND_EXPR_OR;
}

/* An infix operator: continues the open chain of its kind, or opens one over the value before it. */
static bool ir__parse_infix(ir__expr_parser *p, const ir__infix *x, const char *at) {
    int op = x->op == IR__READ_SUB ? IND_EXPR_ADD : x->op;
    if (!ir__reduce_above(p, x->op == IR__READ_POWER ? 8 : x->strength)) return false; /* ** binds to the right */
    ir__open *top = p->num_open ? &p->open[p->num_open - 1] : NULL;
    if (top && top->strength == x->strength && x->strength == 4)
        return ir__parse_fail(p, at, IND_ERROR_PARSE, "a chain of comparisons: write a < b and b < c");
    if (top && top->op == op && ir__is_nary(op)) {
        if (!ir__settle_minus(p, top)) return false;
        top->at = at;
    } else {
        if (top && top->strength == x->strength && x->op != IR__READ_POWER && !ir__reduce(p)) return false;
        if (!ir__push_open(p, op, x->strength, at)) return false;
        top = &p->open[p->num_open - 1];
        top->swap = x->swap;
        top->values--;
    }
    top->minus = x->op == IR__READ_SUB;
    p->operand = true;
    return true;
}

static bool ir__finish_call(ir__expr_parser *p) {
    ir__open *o = &p->open[p->num_open - 1];
    const ir__function *f = o->function;
    int n = (int)(p->num_values - o->values);
    if (n < f->least || n > f->most) {
        p->at = o->at;
        ind__fail(p->context, IND_ERROR_PARSE, "wrong number of arguments: %s takes %d%s, not %d", f->name, f->least,
                  f->most > f->least ? " or more" : "", n);
        return false;
    }
    o->op = f->op;
    o->swap = f->swap;
    return ir__reduce(p);
}

/* Builds everything up to the innermost parenthesis; *done if there is none. */
static bool ir__parse_close(ir__expr_parser *p, bool *done) {
    const char *at = p->at;
    if (!ir__reduce_above(p, 0)) return false;
    *done = !p->num_open;
    if (*done) return true;
    bool call = p->open[p->num_open - 1].op == IR__READ_CALL;
    p->at++;
    if (*at == ',' && call) {
        p->operand = true;
        return true;
    }
    if (*at != ')') return ir__parse_fail(p, at, IND_ERROR_PARSE, call ? "expected ',' or ')'" : "expected ')'");
    if (call) return ir__finish_call(p);
    p->num_open--; /* ( value ) */
    p->before[p->num_values - 1] = p->num_open ? p->open[p->num_open - 1].at : at;
    return true;
}

static bool ir__parse_operator(ir__expr_parser *p, bool *done) {
    const char *at = p->at;
    const ir__infix *x = ir__take_infix(p);
    return x ? ir__parse_infix(p, x, at) : ir__parse_close(p, done);
}

ind_expr ind__expr_parse(ind_context *c, const char *text, const char **end, ind__find_symbol_fn find, void *user) {
    ir__expr_parser p = {.context = c, .text = text, .at = text, .find = find, .user = user, .operand = true};
    bool done = false, ok = true;
    while (ok && !done) {
        ir__skip_space(&p);
        ok = p.at - text <= IR__MAX_TEXT ||
             ir__parse_fail(&p, text + IR__MAX_TEXT, IND_ERROR_LIMIT, "the text is too long");
        if (ok) ok = p.operand ? ir__parse_operand(&p) : ir__parse_operator(&p, &done);
    }
    ind_expr e = ok ? p.value[0] : ir__expr_none(c);
    if (end) *end = p.at;
    ind__free(c, p.open);
    ind__free(c, p.value);
    ind__free(c, p.before);
    return e;
}

ind_expr ind_expr_parse(ind_context *c, const char *text, ind_find_symbol_fn find, void *user, int *column) {
    if (column) *column = 0;
    if (!c) return ir__expr_none(c);
    if (!text) {
        ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "ind_expr_parse: no text");
        return ir__expr_none(c);
    }
    const char *end = text;
    ind_expr e = ind__expr_parse(c, text, &end, find, user);
    bool read = ind__ok(e);
    if (read && *end) ind__fail(c, IND_ERROR_PARSE, "expected an operator or the end of the text");
    if (read && !*end) return e;
    if (column && ind_error_status(c) != IND_ERROR_OUT_OF_MEMORY) *column = (int)(end - text) + 1;
    return ir__expr_none(c);
}

/* =========================================================================================== src/ir/loops/program.c */
/* ----------------------------------------------------------------------------------------------- >>program */

ind_status ind__program_init(ind__program *p, ind_context *c, const ind_expr *inputs, uint32_t num_inputs) {
    memset(p, 0, sizeof *p);
    p->context = c;
    p->num_inputs = num_inputs;
    p->input = (ind_expr *)ind__alloc(c, (num_inputs + 1) * sizeof *p->input);
    if (!p->input) return ind__failed(c);
    if (num_inputs) memcpy(p->input, inputs, num_inputs * sizeof *inputs);
    return IND_OK;
}

void ind__program_free(ind__program *p) {
    if (!p->context) return;
    ind__free(p->context, p->input);
    ind__free(p->context, p->op);
    ind__free(p->context, p->memo);
    memset(p, 0, sizeof *p);
}

void ind__program_close(ind__program *p) {
    if (p->context) ind__free(p->context, p->memo);
    p->memo = NULL;
    p->num_memo = p->cap_memo = 0;
}

static uint32_t *ir__memo_slot(ind__program *p, uint32_t expr) {
    if (p->num_memo * 2 >= p->cap_memo) {
        uint32_t cap = p->cap_memo ? p->cap_memo * 2 : 64;
        struct ind__slot *old = p->memo, *table = (struct ind__slot *)ind__alloc(p->context, cap * sizeof *table);
        if (!table) return NULL;
        for (uint32_t i = 0; i < p->cap_memo; i++) {
            if (!old[i].expr) continue;
            uint32_t at = old[i].expr * 2654435761u & (cap - 1);
            while (table[at].expr) at = (at + 1) & (cap - 1);
            table[at] = old[i];
        }
        ind__free(p->context, old);
        p->memo = table;
        p->cap_memo = cap;
    }
    uint32_t at = expr * 2654435761u & (p->cap_memo - 1);
    while (p->memo[at].expr && p->memo[at].expr != expr) at = (at + 1) & (p->cap_memo - 1);
    if (!p->memo[at].expr) {
        p->memo[at].expr = expr;
        p->memo[at].slot = UINT32_MAX;
        p->num_memo++;
    }
    return &p->memo[at].slot;
}

static uint32_t ir__program_push(ind__program *p, ind_expr_kind kind, uint32_t a, uint32_t b, uint32_t c, int64_t imm) {
    ind__program_op *op = IND__PUSH(p->context, ind__program_op, p->op, p->num_ops, p->cap_ops);
    if (!op) return UINT32_MAX;
    ind__program_op value = {(uint8_t)kind, a, b, c, imm};
    *op = value;
    return p->num_inputs + p->num_ops - 1;
}

/* True if both are the same declared size: facts replace a symbol by one with a narrower range. */
static bool ir__same_size(ind_expr a, ind_expr b) {
    const ind_symbol *x = ind_expr_symbol(a), *y = ind_expr_symbol(b);
    bool sizes = x && y && x->kind == IND_SYMBOL_SIZE && y->kind == IND_SYMBOL_SIZE;
    return sizes && x->slot == y->slot && !strcmp(x->name, y->name);
}

static uint32_t ir__program_symbol(ind__program *p, ind_expr e) {
    for (uint32_t i = 0; i < p->num_inputs; i++)
        if (p->input[i].id == e.id || ir__same_size(p->input[i], e)) return i;
    ind__fail(p->context, IND_ERROR_NOT_FOUND, "no value is given for %s", ind_expr_symbol(e)->name);
    return UINT32_MAX;
}

static uint32_t ir__program_node(ind__program *p, ind_expr e) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    int64_t v;
    if (kind == IND_EXPR_SYM) return ir__program_symbol(p, e);
    if (ind_expr_is_int(e, &v)) return ir__program_push(p, kind, 0, 0, 0, v);
    uint32_t a = ind__program_add(p, ind_expr_arg(e, 0));
    if (ir__is_chain(kind)) {
        for (int i = 1; i < ind_expr_num_args(e) && a != UINT32_MAX; i++) {
            uint32_t b = ind__program_add(p, ind_expr_arg(e, i));
            a = b == UINT32_MAX ? b : ir__program_push(p, kind, a, b, 0, 0);
        }
        return a;
    }
    uint32_t b = ind_expr_num_args(e) > 1 ? ind__program_add(p, ind_expr_arg(e, 1)) : 0;
    uint32_t third = ind_expr_num_args(e) > 2 ? ind__program_add(p, ind_expr_arg(e, 2)) : 0;
    if (a == UINT32_MAX || b == UINT32_MAX || third == UINT32_MAX) return UINT32_MAX;
    return ir__program_push(p, kind, a, b, third, 0);
}

uint32_t ind__program_add(ind__program *p, ind_expr e) {
    if (!ind__ok(e)) return UINT32_MAX;
    uint32_t *slot = ir__memo_slot(p, e.id);
    if (!slot) return UINT32_MAX;
    if (*slot != UINT32_MAX) return *slot;
    uint32_t made = ir__program_node(p, e);
    if (made != UINT32_MAX && (slot = ir__memo_slot(p, e.id))) *slot = made; /* the table may have moved */
    return made;
}

ind_status ind__program_run(const ind__program *p, int64_t *slots) {
    for (uint32_t i = 0; i < p->num_ops; i++) {
        const ind__program_op *op = &p->op[i];
        int64_t *out = &slots[p->num_inputs + i];
        if (op->kind == IND_EXPR_INT) {
            *out = op->imm;
            continue;
        }
        ind_status s = ir__apply(p->context, (ind_expr_kind)op->kind, slots[op->a], slots[op->b], slots[op->c], out);
        if (s) return s;
    }
    return IND_OK;
}

/* ========================================================================================== src/ir/loops/simplify.c */
/* ----------------------------------------------------------------------------------------------- >>simplify */

static bool ir__is_constant(const ind__inst *x) {
    return x->op == IND_LOOP_CONSTANT && !ind_dtype_is_float((ind_dtype)x->dtype);
}

/* Identities that cost nothing to detect and hold for every value, including NaN. 0: none applies. */
static uint32_t ir__trivial(const ind_body *b, const ind__inst *i) {
    const ind__inst *x = &b->inst[i->arg[0]], *y = &b->inst[i->arg[1]], *z = &b->inst[i->arg[2]];
    bool one = y->op == IND_LOOP_CONSTANT && (ind_dtype_is_float((ind_dtype)y->dtype) ? y->imm.f == 1 : y->imm.i == 1);
    switch (i->op) {
    case IND_LOOP_CAST: return x->dtype == i->dtype ? i->arg[0] : 0;
    case IND_LOOP_MUL:
    case IND_LOOP_DIV: return one && i->dtype != IND_BOOL ? i->arg[0] : 0;
    case IND_LOOP_ROUND_F16:
    case IND_LOOP_ROUND_F8E4M3FN:
    case IND_LOOP_ROUND_F8E5M2:
    case IND_LOOP_ROUND_BF16: return x->op == i->op ? i->arg[0] : 0;
    case IND_LOOP_WHERE:
        if (i->arg[1] == i->arg[2]) return i->arg[1];
        if (x->op == IND_LOOP_CONSTANT) return i->arg[x->imm.i ? 1 : 2];
        return i->dtype == IND_BOOL && ir__is_constant(y) && y->imm.i && ir__is_constant(z) && !z->imm.i ? i->arg[0]
                                                                                                         : 0;
    case IND_LOOP_AND:
    case IND_LOOP_OR:
        if (i->arg[0] == i->arg[1]) return i->arg[0];
        if (ir__is_constant(x)) return (x->imm.i != 0) == (i->op == IND_LOOP_AND) ? i->arg[1] : i->arg[0];
        if (ir__is_constant(y)) return (y->imm.i != 0) == (i->op == IND_LOOP_AND) ? i->arg[0] : i->arg[1];
        return 0;
    case IND_LOOP_NOT: return x->op == IND_LOOP_NOT ? x->arg[0] : 0;
    default: return 0;
    }
}

#define IR__MAX_TERMS   16                 /* instructions of an index that are looked at */
#define IR__MAX_INTEGER ((int64_t)1 << 31) /* of a constant in it: sums of these and of indices do not overflow */

/* True if the type has every value of the expression, which is a sum of indices and constants. */
static bool ir__fits(ind_dtype type, ind_expr e) {
    if (type == IND_I64) return true;
    const int64_t half = (int64_t)1 << (8 * ind_dtype_bytes(type) - 1);
    const int64_t least = type == IND_U8 ? 0 : -half, most = type == IND_U8 ? 2 * half : half;
    return ind_known_le(ind_int(e.context, least), e) && ind_known_lt(e, ind_int(e.context, most));
}

static ind_expr ir__as_index(const ind_body *b, uint32_t id, int *terms);

/* The sum, difference or extreme of two values; not set: another op. */
static ind_expr ir__as_index2(const ind_body *b, const ind__inst *x, int *terms) {
    const ind_expr none = ir__expr_none(b->context);
    if (x->op != IND_LOOP_ADD && x->op != IND_LOOP_SUB && x->op != IND_LOOP_MINIMUM && x->op != IND_LOOP_MAXIMUM)
        return none;
    const ind_expr lhs = ir__as_index(b, x->arg[0], terms);
    const ind_expr rhs = ind__ok(lhs) ? ir__as_index(b, x->arg[1], terms) : none;
    if (!ind__ok(rhs)) return none;
    if (x->op == IND_LOOP_MINIMUM) return ind_expr_min(lhs, rhs);
    if (x->op == IND_LOOP_MAXIMUM) return ind_expr_max(lhs, rhs);
    return x->op == IND_LOOP_ADD ? ind_expr_add(lhs, rhs) : ind_expr_sub(lhs, rhs);
}

/* Returns the integer as an expression of loop indices and sizes; invalid: it is none, or an op may wrap around.
   *terms: what it may still look at. */
static ind_expr ir__as_index(const ind_body *b, uint32_t id, int *terms) {
    const ind__inst *x = &b->inst[id];
    const ind_dtype type = (ind_dtype)x->dtype;
    const ind_expr none = ir__expr_none(b->context);
    ind_expr e = none;
    if ((*terms)-- <= 0 || !ind_dtype_is_integer(type)) return none;
    if (x->op == IND_LOOP_CONSTANT && x->imm.i >= -IR__MAX_INTEGER && x->imm.i <= IR__MAX_INTEGER)
        return ind_int(b->context, x->imm.i);
    if (x->op == IND_LOOP_INDEX)
        e = b->index[x->index];
    else if (x->op == IND_LOOP_CAST)
        e = ir__as_index(b, x->arg[0], terms);
    else
        e = ir__as_index2(b, x, terms);
    return ind__ok(e) && ir__fits(type, e) ? e : none;
}

/* Returns 1 if the comparison a < b (or a <= b) holds at all points, 0 if at none, else -1. */
static int ir__always_less(ind_expr a, ind_expr b, bool or_equal) {
    if (or_equal ? ind_known_le(a, b) : ind_known_lt(a, b)) return 1;
    return (or_equal ? ind_known_lt(b, a) : ind_known_le(b, a)) ? 0 : -1;
}

static int ir__always_equal(ind_expr a, ind_expr b) {
    if (ind_known_eq(a, b)) return 1;
    return ind_known_lt(a, b) || ind_known_lt(b, a) ? 0 : -1;
}

/* The comparison of a value with itself. NaN is not equal to itself, and not less. */
static int ir__compare_same(const ind_body *b, const ind__inst *i) {
    if (i->op == IND_LOOP_LT || i->op == IND_LOOP_GT) return 0;
    return ind_dtype_is_float((ind_dtype)b->inst[i->arg[0]].dtype) ? -1 : i->op != IND_LOOP_NE;
}

/* The result of a comparison if it is the same at all points: 0 or 1, else -1. */
static int ir__compare(const ind_body *b, const ind__inst *i) {
    int terms = IR__MAX_TERMS;
    if (i->arg[0] == i->arg[1]) return ir__compare_same(b, i);
    if (ind_dtype_is_float((ind_dtype)b->inst[i->arg[0]].dtype)) return -1;
    ind_expr x = ir__as_index(b, i->arg[0], &terms);
    ind_expr y = ind__ok(x) ? ir__as_index(b, i->arg[1], &terms) : x;
    if (!ind__ok(x) || !ind__ok(y)) return -1;
    switch (i->op) {
    case IND_LOOP_LT: return ir__always_less(x, y, false);
    case IND_LOOP_LE: return ir__always_less(x, y, true);
    case IND_LOOP_GT: return ir__always_less(y, x, false);
    case IND_LOOP_GE: return ir__always_less(y, x, true);
    case IND_LOOP_EQ: return ir__always_equal(x, y);
    default: {
        const int equal = ir__always_equal(x, y);
        return equal < 0 ? -1 : !equal;
    }
    }
}

/* True if the value is a constant bool: *is. */
static bool ir__known_bool(const ind_body *b, uint32_t id, bool *is) {
    *is = ir__is_constant(&b->inst[id]) && b->inst[id].imm.i;
    return id && ir__is_constant(&b->inst[id]);
}

/* True if the mask of an access is true at all points. */
static bool ir__is_unmasked(const ind_body *b, const ind__inst *i) {
    bool on;
    const uint32_t mask = i->op == IND_LOOP_LOAD ? i->arg[0] : i->op == IND_LOOP_STORE ? i->arg[1] : 0;
    return ir__known_bool(b, mask, &on) && on;
}

static const ind__inst *ir__without_mask(const ind__inst *i, ind__inst *copy) {
    *copy = *i;
    copy->arg[i->op == IND_LOOP_STORE] = 0;
    return copy;
}

/* Folds what has one value at all points: comparisons of indices, casts and negations of constants, loads under a mask
   that is false. Returns id 0: not so. */
static ind_value ir__fold(ind_ops *o, const ind_body *b, const ind__inst *i) {
    const ind__inst x = b->inst[i->arg[0]]; /* a copy: the body may grow */
    const ind_dtype dtype = (ind_dtype)i->dtype;
    bool on;
    if (ind__loop_op_class((ind_loop_op)i->op) == 'c') {
        const int always = ir__compare(b, i);
        return always < 0 ? (ind_value){0} : ind_op_constant_int(o, always, IND_BOOL);
    }
    if (i->op == IND_LOOP_LOAD && ir__known_bool(b, i->arg[0], &on) && !on) return ind_op_constant_int(o, 0, dtype);
    if (i->op == IND_LOOP_NOT && ir__is_constant(&x)) return ind_op_constant_int(o, !x.imm.i, IND_BOOL);
    if (i->op != IND_LOOP_CAST || !ir__is_constant(&x) || ind_dtype_is_float(dtype)) return (ind_value){0};
    return ind_op_constant_int(o, dtype == IND_BOOL ? x.imm.i != 0 : x.imm.i, dtype);
}

/* Returns an equal value that is simpler; id 0: none. */
static ind_value ir__simplify(ind_ops *o, const ind_body *b, const ind__inst *i) {
    const uint32_t same = ir__trivial(b, i);
    if (same) return (ind_value){same};
    if (i->op == IND_LOOP_WHERE && b->inst[i->arg[0]].op == IND_LOOP_NOT) {
        ind__inst swapped = *i;
        swapped.arg[0] = b->inst[i->arg[0]].arg[0];
        swapped.arg[1] = i->arg[2];
        swapped.arg[2] = i->arg[1];
        return o->emit(o, &swapped, NULL);
    }
    return ir__fold(o, b, i);
}

/* ---- dead instructions ---- */

/* Marks live instructions: dependencies of the result and of the stores, and every index check. A check is an error
   even if the access is the same at all indices: a tensor without dimensions, an expanded one. */
static void ir__mark_live(const ind_body *b, uint8_t *live) {
    for (uint32_t i = b->num_inst; i-- > 1;) {
        const ind__inst *x = &b->inst[i];
        bool checks = x->op == IND_LOOP_INDIRECT && !(x->flags & IND__INST_CHECKED);
        if (i == b->result || x->op == IND_LOOP_STORE || checks || b->call) live[i] = 1;
        if (!live[i]) continue;
        for (int k = 0; k < IND__MAX_ARGS; k++) live[x->arg[k]] = 1;
        for (uint32_t k = 0; k < x->num_index; k++) {
            ind_expr s[32];
            if (!ind__expr_has_kind(b->index[x->index + k], IND_SYMBOL_INDIRECT)) continue;
            int n = ind__expr_symbols(b->index[x->index + k], s, 32);
            for (int j = 0; j < n && j < 32; j++) {
                const ind_symbol *symbol = ind_expr_symbol(s[j]);
                if (symbol->kind == IND_SYMBOL_INDIRECT && (uint32_t)symbol->slot < i) live[symbol->slot] = 1;
            }
        }
    }
}

/* Removes dead instructions. A body with INDIRECTs keeps them: index symbols have the numbers of instructions.
   False: out of memory. */
static bool ir__drop_dead(ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_INDIRECT) return true;
    uint32_t *now = (uint32_t *)ind__alloc(b->context, b->num_inst * (sizeof *now + 1)), kept = 1;
    if (!now) return false;
    uint8_t *live = (uint8_t *)(now + b->num_inst);
    ir__mark_live(b, live);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        if (!live[i]) continue;
        ind__inst x = b->inst[i];
        for (int k = 0; k < IND__MAX_ARGS; k++) x.arg[k] = now[x.arg[k]];
        now[i] = kept;
        b->inst[kept++] = x;
    }
    b->result = now[b->result];
    b->num_inst = kept;
    ind__free(b->context, now);
    return true;
}

/* ============================================================================================ src/ir/loops/record.c */
/* ------------------------------------------------------------------------------------------------ >>record */

static const struct ir__loop_op_row {
    const char *name;
    int arity;
    char cls;
} ir__loop_op_table[IND_NUM_LOOP_OPS] = {
#define X(name, text, arity, cls) {#text, arity, cls},
    IND_LOOP_OPS(X)
#undef X
};

const char *ind__loop_op_name(ind_loop_op op) {
    return (unsigned)op < IND_NUM_LOOP_OPS ? ir__loop_op_table[op].name : "unknown";
}

int ind__loop_op_arity(ind_loop_op op) {
    return (unsigned)op < IND_NUM_LOOP_OPS ? ir__loop_op_table[op].arity : 0;
}

char ind__loop_op_class(ind_loop_op op) {
    return (unsigned)op < IND_NUM_LOOP_OPS ? ir__loop_op_table[op].cls : 0;
}

static const struct ir__reduction_row {
    const char *name;
    int results;
} ir__reduction_table[IND_NUM_REDUCTIONS] = {
#define X(name, text, results) {text, results},
    IND_REDUCTIONS(X)
#undef X
};

const char *ind__reduction_name(ind_reduction r) {
    return (unsigned)r < IND_NUM_REDUCTIONS ? ir__reduction_table[r].name : "unknown";
}

int ind__reduction_results(ind_reduction r) {
    return (unsigned)r < IND_NUM_REDUCTIONS ? ir__reduction_table[r].results : 0;
}

static const struct ir__scan_row {
    const char *name;
    int results;
    bool sorts;
} ir__scan_table[IND_NUM_SCANS] = {
#define X(name, text, results, sorts) {text, results, sorts},
    IND_SCANS(X)
#undef X
};

const char *ind__scan_name(ind_scan s) {
    return (unsigned)s < IND_NUM_SCANS ? ir__scan_table[s].name : "unknown";
}

int ind__scan_results(ind_scan s) {
    return (unsigned)s < IND_NUM_SCANS ? ir__scan_table[s].results : 0;
}

bool ind__scan_sorts(ind_scan s) {
    return (unsigned)s < IND_NUM_SCANS && ir__scan_table[s].sorts;
}

uint32_t ind__body_scan(const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_SCAN) return i;
    return 0;
}

uint32_t ind__body_sort(const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_SCAN && ind__scan_sorts((ind_scan)b->inst[i].reduction)) return i;
    return 0;
}

static const ind_value ir__no_value = {0};

static ind_value ir__op_fail(ind_ops *o, ind_status status, const char *what, ind_loop_op op) {
    ind__fail(o->context, status, "loop op %s: %s", ind__loop_op_name(op), what);
    return ir__no_value;
}

/* A body in one block with its arrays, for the contents of b. There is a place for the STORE of its result and for the
   offset of each access without an index (ir__realise_storage, ir__flatten_access). */
static ind_body *ir__body_alloc(ind_context *c, const ind_body *b) {
    const uint32_t vars = (uint32_t)(b->rank + b->rrank), insts = b->num_inst + (b->result != 0);
    uint32_t indices = b->num_index;
    if (b->result) indices += b->rank ? (uint32_t)b->rank : 1;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const bool access = b->inst[i].op == IND_LOOP_LOAD || b->inst[i].op == IND_LOOP_STORE;
        indices += access && !b->inst[i].num_index;
    }
    const size_t arrays = insts * sizeof *b->inst + ((size_t)vars + indices) * sizeof *b->var;
    ind_body *copy = (ind_body *)ind__alloc(c, sizeof *copy + arrays);
    if (!copy) return NULL;
    *copy = *b;
    copy->context = c;
    copy->inst = (ind__inst *)(void *)(copy + 1);
    copy->var = (ind_expr *)(void *)(copy->inst + insts);
    copy->index = copy->var + vars;
    copy->cap_inst = insts;
    copy->cap_index = indices;
    if (b->num_inst) memcpy(copy->inst, b->inst, b->num_inst * sizeof *b->inst);
    return copy;
}

void ind__body_free(ind_body *b) {
    if (b) ind__free(b->context, b);
}

/* What a recording needs: the body that grows, and an open addressing hash of its instructions. */
typedef struct ir__record_memory {
    ind_body body; /* first */
    ind_expr var[2 * IND_MAX_RANK];
    uint32_t *table;
    uint32_t cap_table;
} ir__record_memory;

static void ir__record_memory_free(ind_context *c, ir__record_memory *m) {
    if (!m) return;
    ind__free(c, m->body.inst);
    ind__free(c, m->body.index);
    ind__free(c, m->table);
    ind__free(c, m);
}

static ir__record_memory *ir__record_memory_take(ind_context *c) {
    ir__record_memory *m = c->record_memory;
    c->record_memory = NULL;
    if (!m) return (ir__record_memory *)ind__alloc(c, sizeof *m);
    m->body.num_inst = m->body.num_index = m->body.result = 0;
    m->body.call = NULL;
    return m;
}

/* Keeps the memory for the context's next recording. */
static void ir__record_memory_give(ind_context *c, ir__record_memory *m) {
    if (c->record_memory)
        ir__record_memory_free(c, m);
    else
        c->record_memory = m;
}

static ind_value ir__recorder_emit(ind_ops *o, const ind__inst *inst, const ind_expr *index);

static ind_dtype ir__recorder_dtype(ind_ops *o, ind_value v) {
    const ind_body *b = ((ind__recorder *)o)->body;
    return v.id < b->num_inst ? (ind_dtype)b->inst[v.id].dtype : IND_DTYPE_NONE;
}

static ind_expr ir__recorder_indirect(ind_ops *o, ind_value v) {
    const ind_body *b = ((ind__recorder *)o)->body;
    if (!v.id || v.id >= b->num_inst || b->inst[v.id].op != IND_LOOP_INDIRECT) return ir__expr_none(o->context);
    return b->index[b->inst[v.id].index + 1];
}

void ind__record_abort(ind__recorder *r) {
    if (r->body) ir__record_memory_give(r->ops.context, (ir__record_memory *)r->body);
    r->body = NULL;
}

ind_status ind__record_begin(ind__recorder *r, ind_context *c, const ind_expr *ranges, int rank,
                             const ind_expr *rranges, int rrank) {
    memset(r, 0, sizeof *r);
    r->ops.context = c;
    r->ops.emit = ir__recorder_emit;
    r->ops.dtype = ir__recorder_dtype;
    r->ops.indirect_symbol = ir__recorder_indirect;
    ir__record_memory *m = ir__record_memory_take(c);
    if (!m) return ind__failed(c);
    ind_body *b = r->body = &m->body;
    b->context = c;
    b->rank = rank;
    b->rrank = rrank;
    b->inner = 0;
    b->var = m->var;
    bool ok = IND__PUSH(c, ind__inst, b->inst, b->num_inst, b->cap_inst) != NULL;
    for (int i = 0; ok && i < rank + rrank; i++) {
        b->var[i] =
            i < rank ? ind__index_symbol(c, 'i', i, ranges[i]) : ind__index_symbol(c, 'r', i - rank, rranges[i - rank]);
        ok = ind__ok(b->var[i]);
    }
    if (ok) return IND_OK;
    ind__record_abort(r);
    return ind__failed(c);
}

ind_body *ind__record_end(ind__recorder *r) {
    ind_body *b = r->body;
    ind_body *copy = b && ir__drop_dead(b) ? ir__body_alloc(b->context, b) : NULL;
    if (copy) memcpy(copy->var, b->var, (size_t)(b->rank + b->rrank) * sizeof *b->var);
    if (copy && b->num_index) memcpy(copy->index, b->index, b->num_index * sizeof *b->index);
    ind__record_abort(r);
    return copy;
}

static uint64_t ir__inst_hash(const ind__inst *i, const ind_expr *index, uint32_t num_index) {
    uint64_t key[5] = {i->op | (uint64_t)i->dtype << 8 | (uint64_t)i->reduction << 16 | (uint64_t)i->flags << 24 |
                           (uint64_t)i->source << 32,
                       i->arg[0] | (uint64_t)i->arg[1] << 32, i->arg[2] | (uint64_t)i->arg[3] << 32, i->arg[4],
                       (uint64_t)i->imm.i};
    uint64_t h = ind__hash(key, sizeof key, 3);
    for (uint32_t k = 0; k < num_index; k++) h = h * 1099511628211ull ^ index[k].id;
    return h ^ h >> 31;
}

static bool ir__same_inst(const ind_body *b, const ind__inst *x, const ind__inst *y, const ind_expr *index) {
    if (x->op != y->op || x->dtype != y->dtype || x->reduction != y->reduction || x->flags != y->flags ||
        x->source != y->source || memcmp(x->arg, y->arg, sizeof x->arg) || x->imm.i != y->imm.i ||
        x->num_index != y->num_index)
        return false;
    uint32_t compare = x->op == IND_LOOP_INDIRECT ? 1 : x->num_index;
    for (uint32_t k = 0; k < compare; k++)
        if (b->index[x->index + k].id != index[k].id) return false;
    return true;
}

static bool ir__recorder_grow_table(ind__recorder *r) {
    const ind_body *b = r->body;
    ir__record_memory *m = (ir__record_memory *)r->body;
    if (b->num_inst * 2 < r->table_size) return true;
    uint32_t size = r->table_size ? r->table_size * 2 : 64;
    if (size > m->cap_table) {
        uint32_t *table = (uint32_t *)ind__alloc(r->ops.context, size * sizeof *table);
        if (!table) return false;
        ind__free(r->ops.context, m->table);
        m->table = table;
        m->cap_table = size;
    }
    memset(m->table, 0, size * sizeof *m->table);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *x = &b->inst[i];
        uint32_t n = x->op == IND_LOOP_INDIRECT ? 1 : x->num_index;
        uint32_t at = (uint32_t)ir__inst_hash(x, n ? b->index + x->index : NULL, n) & (size - 1);
        while (m->table[at]) at = (at + 1) & (size - 1);
        m->table[at] = i;
    }
    r->table_size = size;
    return true;
}

static ind_value ir__recorder_append(ind__recorder *r, const ind__inst *inst, const ind_expr *index) {
    ind_body *b = r->body;
    ind_context *c = b->context;
    uint32_t first = b->num_index, id = b->num_inst;
    for (uint32_t k = 0; k < inst->num_index; k++) {
        bool symbol = inst->op == IND_LOOP_INDIRECT && k == 1;
        ind_expr e = symbol ? ind__indirect_symbol(c, id, index[0]) : index[k];
        ind_expr *slot = ind__ok(e) ? IND__PUSH(c, ind_expr, b->index, b->num_index, b->cap_index) : NULL;
        if (!slot) return ir__no_value;
        *slot = e;
    }
    ind__inst *at = IND__PUSH(c, ind__inst, b->inst, b->num_inst, b->cap_inst);
    if (!at) return ir__no_value;
    *at = *inst;
    at->index = first;
    return (ind_value){id};
}

static ind_value ir__recorder_emit(ind_ops *o, const ind__inst *inst, const ind_expr *index) {
    ind__recorder *r = (ind__recorder *)o;
    ind_body *b = r->body;
    if (!b) return ir__no_value;
    for (int k = 0; k < IND__MAX_ARGS; k++) {
        if (inst->arg[k] >= b->num_inst)
            return ir__op_fail(o, IND_ERROR_INVALID_ARGUMENT, "an operand is no value of this loop",
                               (ind_loop_op)inst->op);
    }
    ind__inst unmasked;
    if (ir__is_unmasked(b, inst)) inst = ir__without_mask(inst, &unmasked);
    if (inst->op == IND_LOOP_STORE) return ir__recorder_append(r, inst, index);
    const ind_value simpler = ir__simplify(o, b, inst);
    if (simpler.id) return simpler;
    if (!ir__recorder_grow_table(r)) return ir__no_value;
    uint32_t n = inst->op == IND_LOOP_INDIRECT ? 1 : inst->num_index;
    uint32_t *table = ((ir__record_memory *)b)->table;
    uint32_t at = (uint32_t)ir__inst_hash(inst, index, n) & (r->table_size - 1);
    for (; table[at]; at = (at + 1) & (r->table_size - 1))
        if (ir__same_inst(b, &b->inst[table[at]], inst, index)) return (ind_value){table[at]};
    ind_value v = ir__recorder_append(r, inst, index);
    if (v.id) table[at] = v.id;
    return v;
}

/* ---- functions that loop functions call ---- */

ind_context *ind_op_context(ind_ops *o) {
    return o ? o->context : NULL;
}

ind_dtype ind_op_dtype(ind_ops *o, ind_value x) {
    return o && x.id ? o->dtype(o, x) : IND_DTYPE_NONE;
}

int64_t ind__wrap_int(ind_dtype d, int64_t v) {
    switch (d) {
    case IND_BOOL: return v != 0;
    case IND_U8: return (uint8_t)v;
    case IND_I8: return (int8_t)v;
    case IND_I16: return (int16_t)v;
    case IND_I32: return (int32_t)v;
    default: return v;
    }
}

static bool ir__is_compute_dtype(ind_dtype d) {
    return d > IND_DTYPE_NONE && d < IND_NUM_DTYPES && ind_dtype_compute(d) == d;
}

/* C conversion of a float to an integer, but defined everywhere: saturates, NaN is 0 (as the GPU does). */
static int64_t ir__float_to_int(double v) {
    if (v != v) return 0;
    if (v >= 9223372036854775808.0) return INT64_MAX;
    return v < -9223372036854775808.0 ? INT64_MIN : (int64_t)v;
}

ind_value ind_op_constant(ind_ops *o, double value, ind_dtype dtype) {
    dtype = ind_dtype_compute(dtype);
    if (!o) return ir__no_value;
    if (!ir__is_compute_dtype(dtype))
        return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, "unknown dtype", IND_LOOP_CONSTANT);
    if (!ind_dtype_is_float(dtype))
        return ind_op_constant_int(o, dtype == IND_BOOL ? value != 0 : ir__float_to_int(value), dtype);
    ind__inst i = {.op = IND_LOOP_CONSTANT, .dtype = (uint8_t)dtype};
    i.imm.f = dtype == IND_F32 ? (double)(float)value : value;
    return o->emit(o, &i, NULL);
}

ind_value ind_op_constant_int(ind_ops *o, int64_t value, ind_dtype dtype) {
    if (!o) return ir__no_value;
    if (ind_dtype_is_float(dtype)) return ind_op_constant(o, (double)value, dtype);
    if (!ir__is_compute_dtype(dtype))
        return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, "unknown dtype", IND_LOOP_CONSTANT);
    ind__inst i = {.op = IND_LOOP_CONSTANT, .dtype = (uint8_t)dtype};
    i.imm.i = ind__wrap_int(dtype, value);
    return o->emit(o, &i, NULL);
}

ind_value ind_op_index(ind_ops *o, ind_expr e, ind_dtype dtype) {
    int64_t v;
    if (!o || !ind__ok(e)) return ir__no_value;
    if (ind_expr_is_int(e, &v)) return ind_op_constant_int(o, v, dtype);
    ind__inst i = {.op = IND_LOOP_INDEX, .dtype = IND_I64, .num_index = 1};
    return ind_op_cast(o, o->emit(o, &i, &e), dtype);
}

ind_value ind_op_load(ind_ops *o, ind_tensor x, const ind_expr *index, int rank) {
    if (!o || !x.id) return ir__no_value;
    if (!o->load_tensor)
        return ir__op_fail(o, IND_ERROR_INVALID_ARGUMENT, "tensors can only be loaded while their graph is built",
                           IND_LOOP_LOAD);
    return o->load_tensor(o, x, index, rank);
}

ind_value ind_op_cast(ind_ops *o, ind_value x, ind_dtype dtype) {
    if (!o || !x.id) return ir__no_value;
    if (dtype <= IND_DTYPE_NONE || dtype >= IND_NUM_DTYPES)
        return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, "unknown dtype", IND_LOOP_CAST);
    ind__inst i = {.op = IND_LOOP_CAST, .dtype = (uint8_t)ind_dtype_compute(dtype), .arg = {x.id}};
    ind_value v = o->emit(o, &i, NULL);
    switch (dtype) {
    case IND_F16: return ind__emit1(o, IND_LOOP_ROUND_F16, v);
    case IND_BF16: return ind__emit1(o, IND_LOOP_ROUND_BF16, v);
    case IND_F8E4M3FN: return ind__emit1(o, IND_LOOP_ROUND_F8E4M3FN, v);
    case IND_F8E5M2: return ind__emit1(o, IND_LOOP_ROUND_F8E5M2, v);
    default: return v;
    }
}

static bool ir__op_accepts(ind_loop_op op, ind_dtype d) {
    switch (ind__loop_op_class(op)) {
    case 'f': return ind_dtype_is_float(d);
    case 'l': return d == IND_BOOL;
    case 'i': return ind_dtype_is_integer(d);
    case 'a': return d != IND_BOOL || op == IND_LOOP_MAXIMUM || op == IND_LOOP_MINIMUM;
    default: return true;
    }
}

ind_value ind__emit1(ind_ops *o, ind_loop_op op, ind_value a) {
    if (!o || !a.id) return ir__no_value;
    ind_dtype d = o->dtype(o, a);
    if (!ir__op_accepts(op, d)) return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, ind_dtype_name(d), op);
    ind__inst i = {.op = (uint8_t)op, .dtype = (uint8_t)d, .arg = {a.id}};
    return o->emit(o, &i, NULL);
}

ind_value ind__emit2(ind_ops *o, ind_loop_op op, ind_value a, ind_value b) {
    if (!o || !a.id || !b.id) return ir__no_value;
    ind_dtype d = o->dtype(o, a), e = o->dtype(o, b);
    if (d != e) {
        ind__fail(o->context, IND_ERROR_TYPE_MISMATCH, "loop op %s: one operand is %s, the other %s; cast one of them",
                  ind__loop_op_name(op), ind_dtype_name(d), ind_dtype_name(e));
        return ir__no_value;
    }
    if (!ir__op_accepts(op, d)) return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, ind_dtype_name(d), op);
    bool compare = ind__loop_op_class(op) == 'c';
    ind__inst i = {.op = (uint8_t)op, .dtype = (uint8_t)(compare ? IND_BOOL : d), .arg = {a.id, b.id}};
    return o->emit(o, &i, NULL);
}

#define IR__UNARY(X)                                                                                                   \
    X(neg, NEG)                                                                                                        \
    X(abs, ABS)                                                                                                        \
    X(exp, EXP)                                                                                                        \
    X(log, LOG)                                                                                                        \
    X(sqrt, SQRT)                                                                                                      \
    X(rsqrt, RSQRT)                                                                                                    \
    X(reciprocal, RECIPROCAL)                                                                                          \
    X(tanh, TANH)                                                                                                      \
    X(erf, ERF)                                                                                                        \
    X(sigmoid, SIGMOID)                                                                                                \
    X(sin, SIN)                                                                                                        \
    X(cos, COS)                                                                                                        \
    X(tan, TAN)                                                                                                        \
    X(asin, ASIN)                                                                                                      \
    X(acos, ACOS)                                                                                                      \
    X(atan, ATAN)                                                                                                      \
    X(sinh, SINH)                                                                                                      \
    X(cosh, COSH)                                                                                                      \
    X(asinh, ASINH)                                                                                                    \
    X(acosh, ACOSH)                                                                                                    \
    X(atanh, ATANH)                                                                                                    \
    X(exp2, EXP2)                                                                                                      \
    X(expm1, EXPM1)                                                                                                    \
    X(log2, LOG2)                                                                                                      \
    X(log10, LOG10)                                                                                                    \
    X(log1p, LOG1P)                                                                                                    \
    X(floor, FLOOR)                                                                                                    \
    X(ceil, CEIL)                                                                                                      \
    X(trunc, TRUNC)                                                                                                    \
    X(rint, RINT)                                                                                                      \
    X(erfc, ERFC)                                                                                                      \
    X(lgamma, LGAMMA)                                                                                                  \
    X(erfinv, ERFINV)                                                                                                  \
    X(digamma, DIGAMMA)                                                                                                \
    X(i0e, I0E)                                                                                                        \
    X(i1e, I1E)                                                                                                        \
    X(j0, J0)                                                                                                          \
    X(j1, J1)                                                                                                          \
    X(y0, Y0)                                                                                                          \
    X(y1, Y1)                                                                                                          \
    X(not, NOT)
#define IR__BINARY(X)                                                                                                  \
    X(add, ADD)                                                                                                        \
    X(sub, SUB)                                                                                                        \
    X(mul, MUL)                                                                                                        \
    X(div, DIV)                                                                                                        \
    X(pow, POW)                                                                                                        \
    X(maximum, MAXIMUM)                                                                                                \
    X(minimum, MINIMUM)                                                                                                \
    X(fmod, FMOD)                                                                                                      \
    X(atan2, ATAN2)                                                                                                    \
    X(hypot, HYPOT)                                                                                                    \
    X(copysign, COPYSIGN)                                                                                              \
    X(nextafter, NEXTAFTER)                                                                                            \
    X(zeta, ZETA)                                                                                                      \
    X(igamma, IGAMMA)                                                                                                  \
    X(igammac, IGAMMAC)                                                                                                \
    X(bit_and, BIT_AND)                                                                                                \
    X(bit_or, BIT_OR)                                                                                                  \
    X(bit_xor, BIT_XOR)                                                                                                \
    X(shift_left, SHIFT_LEFT)                                                                                          \
    X(shift_right, SHIFT_RIGHT)                                                                                        \
    X(gcd, GCD)                                                                                                        \
    X(eq, EQ)                                                                                                          \
    X(ne, NE)                                                                                                          \
    X(lt, LT)                                                                                                          \
    X(le, LE)                                                                                                          \
    X(gt, GT)                                                                                                          \
    X(ge, GE)                                                                                                          \
    X(and, AND)                                                                                                        \
    X(or, OR)

#define X(text, name)                                                                                                  \
    ind_value ind_op_##text(ind_ops *o, ind_value a) {                                                                 \
        return ind__emit1(o, IND_LOOP_##name, a);                                                                      \
    }
IR__UNARY(X)
#undef X
#define X(text, name)                                                                                                  \
    ind_value ind_op_##text(ind_ops *o, ind_value a, ind_value b) {                                                    \
        return ind__emit2(o, IND_LOOP_##name, a, b);                                                                   \
    }
IR__BINARY(X)
#undef X

ind_value ind_op_where(ind_ops *o, ind_value condition, ind_value a, ind_value b) {
    if (!o || !condition.id || !a.id || !b.id) return ir__no_value;
    if (o->dtype(o, condition) != IND_BOOL)
        return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, "the condition must be bool", IND_LOOP_WHERE);
    if (o->dtype(o, a) != o->dtype(o, b))
        return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, "both values must have one type", IND_LOOP_WHERE);
    ind__inst i = {.op = IND_LOOP_WHERE, .dtype = (uint8_t)o->dtype(o, a), .arg = {condition.id, a.id, b.id}};
    return o->emit(o, &i, NULL);
}

ind_value ind_op_philox(ind_ops *o, ind_value key, ind_value stream, ind_value position, int first, int width) {
    if (!o || !key.id || !stream.id || !position.id) return ir__no_value;
    if (width < 1 || width > 63 || first < 0 || first > 127 || first % 64 + width > 64)
        return ir__op_fail(o, IND_ERROR_INVALID_ARGUMENT, "bits outside one half of 128", IND_LOOP_PHILOX);
    const ind_value arg[3] = {key, stream, position};
    for (int k = 0; k < 3; k++)
        if (o->dtype(o, arg[k]) != IND_I64)
            return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, "the operands must be i64", IND_LOOP_PHILOX);
    ind__inst i = {.op = IND_LOOP_PHILOX, .dtype = IND_I64, .arg = {key.id, stream.id, position.id}};
    i.imm.i = first | width << 8;
    return o->emit(o, &i, NULL);
}

ind_value ind__op_packed(ind_ops *o, ind_value value, ind_value first, ind_value scale, ind_value zero,
                         ind__quantised format, int64_t group) {
    if (!o || !value.id || !first.id) return ir__no_value;
    ind__inst i = {.op = IND_LOOP_PACKED, .dtype = IND_F32, .arg = {value.id, first.id, scale.id, zero.id}};
    i.imm.i = (int64_t)format | group << 8;
    return o->emit(o, &i, NULL);
}

/* ========================================================================================= src/ir/loops/functions.c */
/* ---- user functions ---- */

/* The list is only prepended to and its entries never change, so only the head is read under the lock. */
static const ind__function *ir__functions_of(const ind_context *c) {
    ind__lists_lock(c->root);
    const ind__function *newest = c->root->functions;
    ind__lists_unlock(c->root);
    return newest;
}

const ind__function *ind__function_find(const ind_context *c, const char *name) {
    const ind__function *f = ir__functions_of(c);
    while (f && !(f->registered && !strcmp(f->name, name))) f = f->next;
    return f;
}

typedef struct ir__signature {
    ind_context *context;
    const char *text, *at;
    char name[1 + IND_MAX_FUNCTION_ARGS][64]; /* of the function, then of its arguments */
    ind_dtype dtype[1 + IND_MAX_FUNCTION_ARGS];
    int num_args;
} ir__signature;

static ind_status ir__signature_expects(const ir__signature *s, const char *what) {
    return ind__fail(s->context, IND_ERROR_PARSE,
                     "function: \"%.200s\": column %d: expected %s; it is written as \"swish(x: f32) -> f32\"", s->text,
                     (int)(s->at - s->text) + 1, what);
}

static size_t ir__word_length(const char *s) {
    size_t n = 0;
    while ((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') || s[n] == '_' ||
           (n && s[n] >= '0' && s[n] <= '9'))
        n++;
    return n;
}

static bool ir__signature_take(ir__signature *s, const char *token) {
    while (*s->at == ' ') s->at++;
    size_t n = strlen(token);
    bool is = !strncmp(s->at, token, n);
    if (is) s->at += n;
    while (is && *s->at == ' ') s->at++;
    return is;
}

static ind_status ir__signature_name(ir__signature *s, int which) {
    size_t n = ir__word_length(s->at);
    if (n == 0 || n >= sizeof s->name[0]) return ir__signature_expects(s, "a name of at most 63 letters, digits and _");
    memcpy(s->name[which], s->at, n);
    for (int k = 1; k < which; k++)
        if (!strcmp(s->name[k], s->name[which])) return ir__signature_expects(s, "a name that is not taken");
    s->at += n;
    return IND_OK;
}

static ind_status ir__signature_dtype(ir__signature *s, int which) {
    size_t n = ir__word_length(s->at);
    s->dtype[which] = ind_dtype_parse(s->at, n);
    if (s->dtype[which] == IND_DTYPE_NONE) return ir__signature_expects(s, "an element type");
    s->at += n;
    return IND_OK;
}

/* signature = name "(" [ name ":" dtype { "," name ":" dtype } ] ")" "->" dtype */
static ind_status ir__signature_parse(ir__signature *s) {
    ir__signature_take(s, "");
    if (ir__signature_name(s, 0)) return IND_ERROR_PARSE;
    if (!ir__signature_take(s, "(")) return ir__signature_expects(s, "\"(\"");
    while (!ir__signature_take(s, ")")) {
        int k = s->num_args + 1;
        if (s->num_args && !ir__signature_take(s, ",")) return ir__signature_expects(s, "\",\" or \")\"");
        if (k > IND_MAX_FUNCTION_ARGS)
            return ind__fail(s->context, IND_ERROR_LIMIT, "function %s: at most %d arguments are possible", s->name[0],
                             IND_MAX_FUNCTION_ARGS);
        if (ir__signature_name(s, k)) return IND_ERROR_PARSE;
        if (!ir__signature_take(s, ":")) return ir__signature_expects(s, "\":\"");
        if (ir__signature_dtype(s, k)) return IND_ERROR_PARSE;
        s->num_args++;
    }
    if (!ir__signature_take(s, "->")) return ir__signature_expects(s, "\"->\"");
    if (ir__signature_dtype(s, 0)) return IND_ERROR_PARSE;
    ir__signature_take(s, "");
    return *s->at ? ir__signature_expects(s, "the end") : IND_OK;
}

static bool ir__same_signature(const ind__function *f, const ir__signature *s) {
    bool same = !strcmp(f->name, s->name[0]) && f->num_args == s->num_args && f->dtype == s->dtype[0];
    for (int k = 0; same && k < f->num_args; k++)
        same = !strcmp(f->arg[k], s->name[k + 1]) && f->arg_dtype[k] == s->dtype[k + 1];
    return same;
}

static bool ir__same_code(const char *a, const char *b) {
    return a && b ? !strcmp(a, b) : a == b;
}

static const ind__function *ir__function_make(ir__signature *s, const char *cuda, ind_function_fn host, void *user,
                                              bool registered) {
    ind_context *root = s->context->root;
    ind__arena *names = &root->names;
    ind__lists_lock(root);
    ind__function *f = (ind__function *)ind__arena_alloc(names, sizeof *f);
    if (f)
        *f = (ind__function){.next = root->functions,
                             .dtype = s->dtype[0],
                             .num_args = s->num_args,
                             .host = host,
                             .user = user,
                             .registered = registered};
    bool ok = f && (f->name = ind__arena_string(names, s->name[0], strlen(s->name[0]))) != NULL;
    if (cuda) ok = ok && (f->cuda = ind__arena_string(names, cuda, strlen(cuda))) != NULL;
    for (int k = 0; ok && k < f->num_args; k++) {
        f->arg_dtype[k] = s->dtype[k + 1];
        ok = (f->arg[k] = ind__arena_string(names, s->name[k + 1], strlen(s->name[k + 1]))) != NULL;
    }
    if (ok) root->functions = f;
    ind__lists_unlock(root);
    return ok ? f : NULL;
}

ind_status ind_function_register(ind_context *context, const ind_function_desc *desc) {
    if (!context) return IND_ERROR_INVALID_ARGUMENT;
    if (!desc || !desc->signature || (!desc->cuda && !desc->host))
        return ind__fail(context, IND_ERROR_INVALID_ARGUMENT,
                         "function: the signature, or both of cuda and host, are NULL");
    if (desc->cuda && !desc->cuda[strspn(desc->cuda, " \t\n")])
        return ind__fail(context, IND_ERROR_INVALID_ARGUMENT, "function: \"%.100s\" has an empty text",
                         desc->signature);
    ir__signature s = {.context = context, .text = desc->signature, .at = desc->signature};
    ind_status status = ir__signature_parse(&s);
    if (status) return status;
    const ind__function *old = ind__function_find(context, s.name[0]);
    if (!old) return ir__function_make(&s, desc->cuda, desc->host, desc->user, true) ? IND_OK : ind__failed(context);
    bool same = ir__same_signature(old, &s) && ir__same_code(old->cuda, desc->cuda) && old->host == desc->host &&
                old->user == desc->user;
    return same ? IND_OK
                : ind__fail(context, IND_ERROR_INVALID_ARGUMENT, "function: another function is registered as %s",
                            s.name[0]);
}

/* ---- sources of functions that come from a text: no directive, pragma or assembly, as these name files

   A source is refused by its characters alone, before it is compiled. The rules refuse more than the language requires:
   text that only looks like a directive, as in a comment of several lines, is refused too. They hold for compilers with
   and without trigraphs, and for every convention of line ends. */

/* The first character after s that is not part of a line continuation: a backslash or its trigraph, blanks, end of
   line. */
static const char *ir__code_continued(const char *s) {
    for (;;) {
        const char *t = *s == '\\' ? s + 1 : !strncmp(s, "?\?/", 3) ? s + 3 : s;
        if (t == s) return s;
        t += strspn(t, " \t\v\f");
        if (*t != '\n' && *t != '\r') return s;
        s = t + (t[0] == '\r' && t[1] == '\n' ? 2 : 1);
    }
}

/* True for #, its trigraph or its digraph. */
static bool ir__code_is_hash(const char *s) {
    return *s == '#' || !strncmp(s, "?\?=", 3) || (*s == '%' && *ir__code_continued(s + 1) == ':');
}

/* True if all before `at` on its line may be blank or the end of a comment. The slash that ends a comment may start the
   line. Characters that are not ASCII count as blank. */
static bool ir__code_begins_line(const char *code, const char *at) {
    while (at > code && at[-1] != '\n' && at[-1] != '\r' &&
           ((unsigned char)at[-1] <= ' ' || (unsigned char)at[-1] >= 127))
        at--;
    const bool slash = at > code && at[-1] == '/';
    at -= slash;
    return at == code || at[-1] == '\n' || at[-1] == '\r' || (slash && at[-1] == '*');
}

static bool ir__code_is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* True if this word starts at s; line continuations may split it. */
static bool ir__code_is_word(const char *code, const char *s, const char *word) {
    if (s > code && ir__code_is_letter(s[-1])) return false;
    for (; *word; word++, s = ir__code_continued(s + 1))
        if (*s != *word) return false;
    return !ir__code_is_letter(*s);
}

/* The forbidden construct that the source contains, with its line in *line; NULL: none. */
static const char *ir__code_forbidden(const char *code, int *line) {
    static const char *const words[] = {"_Pragma", "__pragma", "asm", "__asm", "__asm__"};
    *line = 1;
    for (const char *s = code; *s; *line += *s++ == '\n') {
        if (ir__code_is_hash(s) && ir__code_begins_line(code, s)) return "a preprocessor directive";
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (ir__code_is_word(code, s, words[i])) return words[i];
    }
    return NULL;
}

const ind__function *ind__function_declare(ind_context *c, const char *signature, const char *cuda) {
    ir__signature s = {.context = c, .text = signature, .at = signature};
    if (ir__signature_parse(&s)) return NULL;
    const ind__function *twin = ind__function_find(c, s.name[0]);
    if (twin && (!ir__same_signature(twin, &s) || (twin->cuda && strcmp(twin->cuda, cuda)))) {
        ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "function: %s is registered with another %s", s.name[0],
                  ir__same_signature(twin, &s) ? "text" : "signature");
        return NULL;
    }
    if (twin && twin->cuda) return twin; /* registered by the program with the same source */
    int line;
    const char *forbidden = c->desc.trust_texts ? NULL : ir__code_forbidden(cuda, &line);
    if (forbidden) {
        ind__fail(c, IND_ERROR_NOT_SUPPORTED,
                  "function %s: line %d of its source has %s, which texts may not have unless the context trusts them "
                  "(ind_context_desc.trust_texts)",
                  s.name[0], line, forbidden);
        return NULL;
    }
    ind_function_fn host = twin ? twin->host : NULL;
    for (const ind__function *f = ir__functions_of(c); f; f = f->next)
        if (ir__same_signature(f, &s) && ir__same_code(f->cuda, cuda) && f->host == host) return f;
    return ir__function_make(&s, cuda, host, twin ? twin->user : NULL, false);
}

bool ind__function_takes(ind_dtype argument, ind_dtype given) {
    return ind_dtype_promote(argument, given) == argument;
}

ind_value ind__emit_call(ind_ops *o, const ind__function *f, const ind_value *args) {
    ind__inst i = {.op = IND_LOOP_CALL, .dtype = (uint8_t)ind_dtype_compute(f->dtype)};
    for (int k = 0; k < f->num_args; k++) {
        ind_value x = ind_op_cast(o, args[k], ind_dtype_compute(f->arg_dtype[k]));
        if (!x.id) return ir__no_value;
        i.arg[k] = x.id;
    }
    i.imm.i = 0;
    i.imm.function = f;
    return o->emit(o, &i, NULL);
}

const ind__extern *ind__extern_find(const ind_context *c, const char *name) {
    ind__lists_lock(c->root);
    const ind__extern *e = c->root->externs;
    ind__lists_unlock(c->root);
    while (e && strcmp(e->desc.name, name)) e = e->next;
    return e;
}

ind_status ind_extern_register(ind_context *context, const ind_extern_desc *desc) {
    return ind__extern_register(context, desc, false);
}

ind_status ind__extern_register(ind_context *context, const ind_extern_desc *desc, bool product) {
    if (!context) return IND_ERROR_INVALID_ARGUMENT;
    if (!desc || !desc->name || !*desc->name || (!desc->host && !desc->cuda && !desc->shape))
        return ind__fail(context, IND_ERROR_INVALID_ARGUMENT, "extern: the name or all functions are NULL");
    size_t n = strspn(desc->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    if (desc->name[n] || n > 63)
        return ind__fail(context, IND_ERROR_INVALID_ARGUMENT,
                         "extern: \"%.80s\" is not a name; at most 63 letters, digits, _ and . are allowed",
                         desc->name);
    const ind__extern *old = ind__extern_find(context, desc->name);
    if (old) {
        const ind_extern_desc *d = &old->desc;
        bool same = d->host == desc->host && d->cuda == desc->cuda && d->shape == desc->shape &&
                    d->user == desc->user && d->strided == desc->strided;
        return same ? IND_OK
                    : ind__fail(context, IND_ERROR_INVALID_ARGUMENT, "extern: another extern call is registered as %s",
                                desc->name);
    }
    ind__lists_lock(context);
    ind__extern *e = (ind__extern *)ind__arena_alloc(&context->names, sizeof *e);
    const char *name = e ? ind__arena_string(&context->names, desc->name, n) : NULL;
    if (name) {
        e->desc = *desc;
        e->desc.name = name;
        e->product = product;
        e->next = context->externs;
        context->externs = e;
    }
    ind__lists_unlock(context);
    return name ? IND_OK : ind__failed(context);
}

ind_value ind_op_call(ind_ops *o, const char *function, const ind_value *args, int num_args) {
    if (!o) return ir__no_value;
    const ind__function *f = function ? ind__function_find(o->context, function) : NULL;
    if (!f || !f->cuda) {
        ind__fail(o->context, IND_ERROR_NOT_FOUND, "call: no function %.63s is registered",
                  function ? function : "NULL");
        return ir__no_value;
    }
    if (num_args != f->num_args || (num_args && !args))
        return ir__op_fail(o, IND_ERROR_INVALID_ARGUMENT, "another number of arguments is declared", IND_LOOP_CALL);
    for (int k = 0; k < num_args; k++) {
        if (!args[k].id) return ir__no_value;
        if (!ind__function_takes(f->arg_dtype[k], o->dtype(o, args[k])) &&
            o->dtype(o, args[k]) != ind_dtype_compute(f->arg_dtype[k]))
            return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, "an argument does not promote to its declared type",
                               IND_LOOP_CALL);
    }
    return ind__emit_call(o, f, args);
}

void ind__function_print_signature(ind__text *t, const ind__function *f) {
    ind__textf(t, "%s(", f->name);
    for (int k = 0; k < f->num_args; k++)
        ind__textf(t, "%s%s: %s", k ? ", " : "", f->arg[k], ind_dtype_name(f->arg_dtype[k]));
    ind__textf(t, ") -> %s", ind_dtype_name(f->dtype));
}

ind_status ind__call_needs(ind_context *c, const ind__extern_call *call, ind_device device) {
    if (!call->op)
        return ind__fail(c, IND_ERROR_NOT_SUPPORTED, "%s: this extern call is not registered (ind_extern_register)",
                         call->name);
    bool host = device == IND_DEVICE_HOST;
    if (host ? call->op->desc.host != NULL : call->op->desc.cuda != NULL) return IND_OK;
    return ind__fail(c, IND_ERROR_NOT_SUPPORTED, "%s: this extern call has no %s callback (ind_extern_register)",
                     call->name, host ? "host" : "cuda");
}

ind_status ind__body_needs_host(const ind_body *b) {
    if (b->call) return ind__call_needs(b->context, b->call, IND_DEVICE_HOST);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *x = &b->inst[i];
        if (x->op == IND_LOOP_CALL && !x->imm.function->host)
            return ind__fail(b->context, IND_ERROR_NOT_SUPPORTED,
                             "%s: the host device needs a host twin of this function (ind_function_register)",
                             x->imm.function->name);
    }
    return IND_OK;
}

ind_value ind__emit_load(ind_ops *o, uint32_t source, ind_dtype memory_dtype, const ind_expr *index, int rank) {
    for (int k = 0; k < rank; k++)
        if (!ind__ok(index[k])) return ir__no_value;
    ind__inst i = {.op = IND_LOOP_LOAD, .dtype = (uint8_t)ind_dtype_compute(memory_dtype), .arg = {o->mask.id}};
    i.source = source;
    i.num_index = (uint32_t)rank;
    return o->emit(o, &i, index);
}

void ind__emit_store(ind_ops *o, uint32_t source, const ind_expr *index, int rank, ind_value v) {
    if (!v.id) return;
    ind__inst i = {.op = IND_LOOP_STORE, .dtype = (uint8_t)o->dtype(o, v), .arg = {v.id}};
    i.source = source;
    i.num_index = (uint32_t)rank;
    o->emit(o, &i, index);
}

bool ind__can_scatter(ind_reduction mode) {
    return mode == IND_REDUCE_NONE || mode == IND_REDUCE_SUM || mode == IND_REDUCE_PROD || mode == IND_REDUCE_MAX ||
           mode == IND_REDUCE_MIN;
}

void ind__emit_scatter(ind_ops *o, uint32_t source, const ind_expr *index, int rank, ind_value v, ind_value mask,
                       ind_reduction mode) {
    for (int k = 0; k < rank; k++)
        if (!ind__ok(index[k])) return;
    if (!v.id) return;
    if (o->capture) {
        *o->capture = (ind__capture){.checked = o->capture->checked, .set = true, .value = v, .mask = mask};
        for (int k = 0; k < rank; k++) o->capture->index[k] = index[k];
        return;
    }
    ind__inst i = {
        .op = IND_LOOP_STORE, .dtype = (uint8_t)o->dtype(o, v), .reduction = (uint8_t)mode, .flags = IND__INST_SCATTER};
    if (o->seldom) i.flags |= IND__INST_SELDOM;
    i.arg[0] = v.id;
    i.arg[1] = mask.id;
    i.source = source;
    i.num_index = (uint32_t)rank;
    o->emit(o, &i, index);
}

ind_value ind__emit_reduce(ind_ops *o, ind_reduction r, ind_value a, ind_value b, int flags) {
    if (!a.id || (r == IND_REDUCE_DOT && !b.id)) return ir__no_value;
    ind__inst i = {.op = IND_LOOP_REDUCE, .reduction = (uint8_t)r, .arg = {a.id, r == IND_REDUCE_DOT ? b.id : 0}};
    i.dtype = (uint8_t)(r == IND_REDUCE_ARGMAX ? IND_I64 : o->dtype(o, a));
    i.flags = (uint8_t)flags;
    return o->emit(o, &i, NULL);
}

ind_value ind__emit_part(ind_ops *o, ind_value reduce, int which) {
    if (!reduce.id) return ir__no_value;
    ind__inst i = {.op = IND_LOOP_PART, .dtype = (uint8_t)o->dtype(o, reduce), .arg = {reduce.id}};
    i.imm.i = which;
    return o->emit(o, &i, NULL);
}

ind_value ind__emit_scan(ind_ops *o, ind_scan kind, ind_value a) {
    if (!a.id) return ir__no_value;
    ind__inst i = {.op = IND_LOOP_SCAN, .reduction = (uint8_t)kind, .dtype = (uint8_t)o->dtype(o, a), .arg = {a.id}};
    return o->emit(o, &i, NULL);
}

ind_value ind__emit_scan_part(ind_ops *o, ind_value scan, int which) {
    if (!scan.id) return ir__no_value;
    ind__inst i = {.op = IND_LOOP_PART, .dtype = (uint8_t)(which ? IND_I64 : o->dtype(o, scan)), .arg = {scan.id}};
    i.imm.i = which;
    return o->emit(o, &i, NULL);
}

ind_value ind__emit_state(ind_ops *o, ind_dtype dtype, int which) {
    ind__inst i = {.op = IND_LOOP_STATE, .dtype = (uint8_t)dtype};
    i.imm.i = which;
    return o->emit(o, &i, NULL);
}

ind_value ind__emit_combine_scan(ind_ops *o, const ind_value *element, const ind_value *combined, int n,
                                 bool exclusive) {
    ind_value pair = {0};
    for (int k = n; k-- > 0;) {
        if (!element[k].id || !combined[k].id) return ir__no_value;
        ind__inst i = {.op = IND_LOOP_PAIR, .dtype = (uint8_t)o->dtype(o, element[k])};
        i.arg[0] = element[k].id;
        i.arg[1] = combined[k].id;
        i.arg[2] = pair.id;
        pair = o->emit(o, &i, NULL);
        if (!pair.id) return pair;
    }
    ind__inst i = {.op = IND_LOOP_SCAN, .reduction = IND_SCAN_COMBINE, .dtype = (uint8_t)o->dtype(o, element[0])};
    i.flags = exclusive ? IND__INST_EXCLUSIVE : 0;
    i.arg[0] = pair.id;
    return o->emit(o, &i, NULL);
}

/* True if the index was computed from loop indices and is proven to be in range: it needs no memory and no check. */
static bool ir__known_index(const ind__recorder *r, ind_value x, ind_expr size, ind_expr *e) {
    int terms = IR__MAX_TERMS;
    *e = ir__as_index(r->body, x.id, &terms);
    return ind__ok(*e) && ir__in_range(*e, size);
}

ind_expr ind_op_indirect(ind_ops *o, ind_value x, ind_expr size, bool wrap) {
    if (!o || !x.id || !ind__ok(size)) return ir__expr_none(o ? o->context : size.context);
    ind_dtype d = o->dtype(o, x);
    ind_expr e;
    if (!ind_dtype_is_integer(d)) {
        ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, "an index must be an integer", IND_LOOP_INDIRECT);
        return ir__expr_none(o->context);
    }
    if (o->emit == ir__recorder_emit && ir__known_index((ind__recorder *)o, x, size, &e)) return e;
    x = ind_op_cast(o, x, IND_I64);
    if (o->mask.id) /* a lane that reads nothing must not fail the check */
        x = ind_op_where(o, o->mask, x, ind_op_constant_int(o, 0, IND_I64));
    if (!x.id) return ir__expr_none(o->context);
    ind__inst i = {.op = IND_LOOP_INDIRECT, .dtype = IND_I64, .flags = wrap ? IND__INST_WRAP : 0, .arg = {x.id}};
    if (o->checked) i.flags |= IND__INST_CHECKED;
    i.source = o->group_ends;
    i.num_index = 2;
    ind_expr index[2] = {size, size};
    ind_value v = o->emit(o, &i, index);
    return v.id ? o->indirect_symbol(o, v) : ir__expr_none(o->context);
}

ind_value ind_op_masked(ind_ops *o, ind_value mask, ind_loop_fn fn, const ind_expr *index, int rank, void *user,
                        double other) {
    if (!o || !mask.id || !fn) return ir__no_value;
    ind_value outer = o->mask;
    o->mask = outer.id ? ind_op_and(o, outer, mask) : mask;
    ind_value v = fn(o, index, rank, user);
    o->mask = outer;
    return ind_op_where(o, mask, v, ind_op_constant(o, other, ind_op_dtype(o, v)));
}

/* ============================================================================================ src/ir/loops/replay.c */
/* ------------------------------------------------------------------------------------------------ >>replay */

typedef struct ir__replay_state {
    ind_ops *o;
    const ind__replay *r;
    uint32_t *map;
    ind_expr *from, *to; /* symbols of the body and their replacements */
    int num;
} ir__replay_state;

static ind_value ir__replay_inst(ir__replay_state *s, const ind__inst *x) {
    const ind_body *b = s->r->body;
    ind_ops *o = s->o;
    ind_expr index[IND_MAX_RANK];
    ind__inst i = *x;
    for (uint32_t k = 0; k < x->num_index; k++) {
        index[k] = ind__substitute(b->index[x->index + k], s->from, s->to, s->num);
        if (!ind__ok(index[k])) return ir__no_value;
    }
    for (int k = 0; k < IND__MAX_ARGS; k++) {
        i.arg[k] = x->arg[k] ? s->map[x->arg[k]] : 0;
        if (x->arg[k] && !i.arg[k]) return ir__no_value;
    }
    if (x->op == IND_LOOP_INDEX) return ind_op_index(o, index[0], (ind_dtype)x->dtype);
    if (x->op == IND_LOOP_STORE && s->r->store) {
        s->r->store(o, &i, index, s->r->user);
        return (ind_value){i.arg[0]};
    }
    if (x->op == IND_LOOP_REDUCE && s->r->reduce) return s->r->reduce(o, &i, s->r->user);
    if (x->op != IND_LOOP_LOAD) return o->emit(o, &i, index);
    ind_value outer = o->mask, own = {i.arg[0]};
    o->mask = own.id && outer.id && own.id != outer.id ? ind_op_and(o, outer, own) : own.id ? own : outer;
    i.arg[0] = o->mask.id;
    ind_value v = s->r->load ? s->r->load(o, &i, index, s->r->user) : o->emit(o, &i, index);
    o->mask = outer;
    return v;
}

static ind_value ir__replay_all(ir__replay_state *s, const uint8_t *live) {
    const ind_body *b = s->r->body;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *x = &b->inst[i];
        if (!live[i]) continue;
        if (x->op == IND_LOOP_INDIRECT) {
            ind_expr extent = ind__substitute(b->index[x->index], s->from, s->to, s->num);
            s->from[s->num] = b->index[x->index + 1];
            const bool checked = s->o->checked;
            s->o->checked = x->flags & IND__INST_CHECKED;
            s->o->group_ends = x->source;
            s->to[s->num] = ind_op_indirect(s->o, (ind_value){s->map[x->arg[0]]}, extent, x->flags & IND__INST_WRAP);
            s->o->checked = checked;
            s->o->group_ends = 0;
            if (!ind__ok(s->to[s->num])) return ir__no_value;
            s->num++;
            continue;
        }
        s->map[i] = ir__replay_inst(s, x).id;
        if (!s->map[i]) return ir__no_value;
    }
    return (ind_value){b->result ? s->map[b->result] : 1};
}

ind_value ind__body_replay(ind_ops *o, const ind__replay *r) {
    const ind_body *b = r->body;
    ind_context *c = o->context;
    int vars = b->rank + b->rrank;
    uint32_t indirect = 0;
    for (uint32_t i = 1; i < b->num_inst; i++) indirect += b->inst[i].op == IND_LOOP_INDIRECT;
    uint8_t *live = (uint8_t *)ind__alloc(c, b->num_inst);
    ir__replay_state s = {o, r, r->map, NULL, NULL, vars};
    if (!s.map) s.map = (uint32_t *)ind__alloc(c, b->num_inst * sizeof *s.map);
    s.from = (ind_expr *)ind__alloc(c, 2 * ((uint32_t)vars + indirect + 1) * sizeof *s.from);
    ind_value result = ir__no_value;
    if (live && s.map && s.from) {
        s.to = s.from + vars + indirect + 1;
        for (int i = 0; i < vars; i++) s.from[i] = b->var[i], s.to[i] = r->var[i];
        ir__mark_live(b, live);
        result = ir__replay_all(&s, live);
    }
    ind__free(c, live);
    if (s.map != r->map) ind__free(c, s.map);
    ind__free(c, s.from);
    return result;
}

/* ============================================================================================= src/ir/loops/boxes.c */
/* ------------------------------------------------------------------------------------------------- >>boxes */

static void ir__set_order(ind_layout *l, const uint8_t *order) {
    memcpy(l->order, order, sizeof l->order);
    l->ordered = true;
}

/* Graph nodes whose computation was inlined into the body being recorded. */
typedef struct ind__origins {
    ind_context *context;
    uint32_t *node;
    uint32_t num, cap;
    bool failed;
} ind__origins;

static void ir__origins_add(ind__origins *s, uint32_t node) {
    for (uint32_t i = 0; i < s->num; i++)
        if (s->node[i] == node) return;
    uint32_t *at = IND__PUSH(s->context, uint32_t, s->node, s->num, s->cap);
    if (!at) {
        s->failed = true;
        return;
    }
    for (at = &s->node[s->num - 1]; at > s->node && at[-1] > node; at--) *at = at[-1]; /* keeps them ascending */
    *at = node;
}

ind_status ind__lowered_init(ind__lowered *p, ind_context *c, const ind_realise_policy *policy) {
    memset(p, 0, sizeof *p);
    p->context = p->arena.context = p->boxes.context = c;
    if (policy) p->policy = *policy;
    if (!p->policy.max_reads_shared) p->policy.max_reads_shared = 4;
    if (!p->policy.max_ops_shared) p->policy.max_ops_shared = 30;
    if (!p->policy.max_reads) p->policy.max_reads = 8;
    if (!p->policy.max_ops) p->policy.max_ops = 64;
    if (!p->policy.look_steps) p->policy.look_steps = 1 << 20;
    if (!p->policy.list_bytes) p->policy.list_bytes = (int64_t)64 << 20;
    return IND__PUSH(c, ind__buffer, p->buffer, p->num_buffers, p->cap_buffers) ? IND_OK : ind__failed(c);
}

/* All storages are in a list, so that bodies that were never stored are freed too. */
typedef struct ir__storage_link {
    ind__storage storage; /* must be first */
    struct ir__storage_link *next;
} ir__storage_link;

void ind__lowered_free_boxes(ind__lowered *p) {
    for (ir__storage_link *s = (ir__storage_link *)p->storages; s; s = s->next) ind__body_free(s->storage.body);
    p->storages = NULL;
    ind__arena_free(&p->boxes);
}

void ind__lowered_free(ind__lowered *p) {
    if (!p->context) return;
    for (uint32_t i = 0; i < p->num_loops; i++) ind__body_free(p->loop[i].body);
    ind__lowered_free_boxes(p);
    ind__free(p->context, p->buffer);
    ind__free(p->context, p->loop);
    ind__free(p->context, p->copied_whole);
    ind__arena_free(&p->arena);
    memset(p, 0, sizeof *p);
}

static uint32_t ir__add_buffer(ind__lowered *p, const char *name, ind__buffer_kind kind, ind_dtype dtype,
                               const ind_expr *size, int rank) {
    char made[24];
    if (!name) {
        ind__format(made, sizeof made, "buf%u", p->num_buffers);
        name = made;
    }
    name = ind__arena_string(&p->arena, name, strlen(name));
    ind__buffer *b = name ? IND__PUSH(p->context, ind__buffer, p->buffer, p->num_buffers, p->cap_buffers) : NULL;
    if (!b) return 0;
    b->name = name;
    b->kind = kind;
    b->dtype = dtype;
    b->layout.rank = rank;
    b->layout.offset = ind_int(p->context, 0);
    for (int i = 0; i < rank; i++) {
        b->layout.size[i] = size[i];
        b->layout.order[i] = (uint8_t)i;
    }
    return p->num_buffers - 1;
}

uint32_t ind__lowered_input(ind__lowered *p, const char *name, ind__buffer_kind kind, ind_dtype dtype,
                            const ind_expr *size, int rank) {
    uint32_t b = ir__add_buffer(p, name, kind, dtype, size, rank);
    if (b) p->buffer[b].layout.ordered = true;
    return b;
}

static ind__storage *ir__add_storage(ind__lowered *p, ind_dtype dtype, const ind_expr *size, int rank) {
    ir__storage_link *s = (ir__storage_link *)ind__arena_alloc(&p->boxes, sizeof *s);
    if (!s) return NULL;
    s->next = (ir__storage_link *)p->storages;
    p->storages = s;
    s->storage.dtype = dtype;
    s->storage.rank = rank;
    for (int i = 0; i < rank; i++) s->storage.size[i] = size[i];
    return &s->storage;
}

static bool ir__keep_origins(ind__lowered *p, const ind__origins *o, uint32_t **node, uint32_t *num) {
    *num = o->num;
    *node = (uint32_t *)ind__arena_copy(&p->arena, o->node, o->num * sizeof *o->node);
    return *node && !o->failed;
}

static ind__box *ir__add_box(ind__lowered *p, ind__storage *s) {
    ind__box *b = s ? (ind__box *)ind__arena_alloc(&p->boxes, sizeof *b) : NULL;
    if (!b) return NULL;
    b->storage = s;
    b->rank = s->rank;
    b->identity = true;
    for (int i = 0; i < s->rank; i++) {
        b->size[i] = s->size[i];
        b->map[i] = ind__index_symbol(p->context, 'i', i, s->size[i]);
        if (!ind__ok(b->map[i])) return NULL;
    }
    return b;
}

ind__box *ind__box_buffer(ind__lowered *p, uint32_t buffer) {
    if (!buffer || buffer >= p->num_buffers) return NULL;
    const ind__buffer *b = &p->buffer[buffer];
    ind__storage *s = ir__add_storage(p, b->dtype, b->layout.size, b->layout.rank);
    if (s) s->buffer = buffer;
    return ir__add_box(p, s);
}

/* points times a size at its hint; stops growing at 2^40. */
static double ir__hinted(double points, ind_expr size) {
    int64_t n = ind_hint(size);
    return n > 0 && points < 0x1p40 ? points * (double)n : points;
}

/* Bytes that a load moves over all points of the body, at the hints: the elements that its index visits, at most the
   buffer. */
static double ir__load_bytes(const ind__lowered *p, const ind_body *b, const ind__inst *load) {
    const ind__buffer *buffer = &p->buffer[load->source];
    double traversed = 1, all = 1;
    for (int v = 0; v < b->rank; v++) {
        bool used = false;
        for (uint32_t k = 0; k < load->num_index; k++) {
            ind_expr e = b->index[load->index + k];
            used = used || ind__expr_depends(e, b->var[v]) || ind__expr_has_kind(e, IND_SYMBOL_INDIRECT);
        }
        if (used) traversed = ir__hinted(traversed, ind_expr_symbol(b->var[v])->extent);
    }
    for (int d = 0; d < buffer->layout.rank; d++) all = ir__hinted(all, buffer->layout.size[d]);
    return (traversed < all ? traversed : all) * (double)ind_dtype_bytes(buffer->dtype);
}

static void ir__count_body(const ind__lowered *p, ind__storage *s) {
    const ind_body *b = s->body;
    s->bytes = (double)ind_dtype_bytes(s->dtype);
    for (int d = 0; d < s->rank; d++) s->bytes = ir__hinted(s->bytes, s->size[d]);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        s->num_reads += b->inst[i].op == IND_LOOP_LOAD;
        s->num_ops += ind__loop_op_class((ind_loop_op)b->inst[i].op) != 's';
        if (b->inst[i].op == IND_LOOP_LOAD) s->read_bytes += ir__load_bytes(p, b, &b->inst[i]);
    }
}

ind__box *ind__box_pointwise(ind__lowered *p, ind_dtype dtype, const ind_expr *size, int rank, ind_loop_fn fn,
                             void *user) {
    ind_context *c = p->context;
    ind__recorder r;
    if (ind__record_begin(&r, c, size, rank, NULL, 0)) return NULL;
    ind__origins origins = {.context = c};
    ir__origins_add(&origins, p->origin);
    r.ops.origins = &origins;
    ind_value v = fn(&r.ops, r.body->var, rank, user);
    if (v.id) v = ind_op_cast(&r.ops, v, ind_dtype_compute(dtype));
    r.body->result = v.id;
    ind__storage *s = v.id ? ir__add_storage(p, dtype, size, rank) : NULL;
    ind__box *box = NULL;
    if (s && ir__keep_origins(p, &origins, &s->origin, &s->num_origins)) {
        s->body = ind__record_end(&r);
        if (s->body) ir__count_body(p, s);
        box = s->body ? ir__add_box(p, s) : NULL;
    }
    if (!v.id && !ind__state_of(c)->status)
        ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "a loop function returned no value");
    ind__record_abort(&r);
    ind__free(c, origins.node);
    return box;
}

static uint32_t ir__add_loop(ind__lowered *p, ind_reduction reduction, const uint32_t *origin, uint32_t num_origins) {
    ind__loop *l = IND__PUSH(p->context, ind__loop, p->loop, p->num_loops, p->cap_loops);
    if (!l) return UINT32_MAX;
    l->reduction = reduction;
    l->origin = (uint32_t *)(uintptr_t)origin;
    l->num_origins = num_origins;
    l->note = p->note;
    l->purpose = p->purpose;
    return p->num_loops - 1;
}

/* Adds a loop with the recorded body, which writes n new buffers; results: boxes over these. */
static bool ir__add_stored(ind__lowered *p, ind__recorder *r, ind_reduction reduction, const ind__origins *origins,
                           const uint32_t *buffers, int n, ind__box **results) {
    uint32_t *kept, num_kept;
    if (!ir__keep_origins(p, origins, &kept, &num_kept)) return false;
    uint32_t loop = ir__add_loop(p, reduction, kept, num_kept);
    if (loop == UINT32_MAX) return false;
    bool ok = true;
    p->loop[loop].body = ind__record_end(r);
    if (!p->loop[loop].body) return false;
    p->loop[loop].num_outputs = (uint32_t)n;
    for (int k = 0; k < n; k++) {
        p->loop[loop].output[k] = buffers[k];
        p->buffer[buffers[k]].loop = loop;
        results[k] = ind__box_buffer(p, buffers[k]);
        ok = ok && results[k];
    }
    return ok;
}

/* Gives a buffer with the dimensions of the results of the node being lowered their order. */
static void ir__order_result(const ind__lowered *p, ind_layout *l) {
    uint8_t order[IND_MAX_RANK] = {0};
    if (!p->channels_last || l->rank != p->channels_last) return;
    for (int k = 1; k < l->rank; k++) order[k] = (uint8_t)(k + 1 < l->rank ? k + 1 : 1);
    ir__set_order(l, order);
}

/* Records the reduction and the stores of its results into new buffers. */
static bool ir__record_reduction(ind__lowered *p, ind__recorder *r, const ind__reduction_desc *d, ind_value a,
                                 uint32_t *buffers) {
    ind_ops *o = &r->ops;
    int n = ind__reduction_results(d->type);
    ind_value b = ir__no_value;
    if (d->second_fn) b = d->second_fn(o, r->body->var, d->rank + d->rrank, d->user);
    ind_value reduced = ind__emit_reduce(o, d->type, a, b, d->flags);
    for (int k = 0; k < n; k++) {
        ind_value v = n > 1 ? ind__emit_part(o, reduced, k) : reduced;
        v = ind_op_cast(o, v, ind_dtype_compute(d->dtype));
        buffers[k] = v.id ? ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, d->dtype, d->size, d->rank) : 0;
        if (!buffers[k]) return false;
        ir__order_result(p, &p->buffer[buffers[k]].layout);
        ind__emit_store(o, buffers[k], r->body->var, d->rank, v);
    }
    return r->body->inst[r->body->num_inst - 1].op == IND_LOOP_STORE;
}

/* True if the buffer is a result of rows and every point of the body reads its own element of it. */
static bool ir__reads_row_result(const ind__lowered *p, const ind_body *b, const ind__inst *load) {
    const ind__buffer *x = &p->buffer[load->source];
    if (x->kind != IND__BUFFER_COMPUTED || x->mutates || x->mutated_by) return false;
    ind_reduction made_by = p->loop[x->loop].reduction;
    if (made_by == IND_REDUCE_NONE || made_by == IND_REDUCE_DOT) return false;
    uint32_t seen = 0;
    for (uint32_t k = 0; k < load->num_index; k++) {
        for (int v = 0; v < b->rank + b->rrank; v++)
            if (ind_expr_same(b->index[load->index + k], b->var[v])) seen |= 1u << v;
    }
    for (int v = 0; v < b->rank + b->rrank; v++) {
        int64_t one = 0;
        bool whole = ind_expr_is_int(ind_expr_symbol(b->var[v])->extent, &one) && one == 1;
        if (!whole && !(seen >> v & 1)) return false;
    }
    return true;
}

/* True if the reduced values read more bytes of row results than one value per row has. Then that value is computed by
   the rows' kernel and stored instead of these results (the loss of a row instead of its maximum and sum). */
static bool ir__row_values_profitable(const ind__lowered *p, const ind__reduction_desc *d, const ind_body *b,
                                      ind_value v) {
    int bytes = 0;
    if (p->policy.disable_rows || d->second_fn || d->rank + d->rrank > IND_MAX_RANK) return false;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *in = &b->inst[i];
        if (in->op != IND_LOOP_LOAD || !ir__reads_row_result(p, b, in)) continue;
        bool again = false;
        for (uint32_t k = 1; k < i && !again; k++)
            again = b->inst[k].op == IND_LOOP_LOAD && b->inst[k].source == in->source;
        bytes += again ? 0 : ind_dtype_bytes(p->buffer[in->source].dtype);
    }
    return bytes > ind_dtype_bytes((ind_dtype)b->inst[v.id].dtype);
}

static ind_value ir__copy_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    return ind__box_load(o, (const ind__box *)user, index, rank);
}

/* Stores the values to reduce, in this type, over all points, and reduces the stored values. */
static ind_status ir__reduce_stored(ind__lowered *p, const ind__reduction_desc *d, ind_dtype dtype,
                                    ind__box **results) {
    ind_expr size[IND_MAX_RANK];
    for (int k = 0; k < d->rank + d->rrank; k++) size[k] = k < d->rank ? d->size[k] : d->rrange[k - d->rank];
    ind__box *values = ind__box_pointwise(p, dtype, size, d->rank + d->rrank, d->fn, d->user);
    if (!values || ind__box_realise(p, values)) return ind__failed(p->context);
    ind__reduction_desc over = *d;
    over.fn = ir__copy_element, over.user = values;
    return ind__box_reduction(p, &over, results);
}

ind_status ind__box_reduction(ind__lowered *p, const ind__reduction_desc *d, ind__box **results) {
    ind_context *c = p->context;
    ind__recorder r;
    if (ind__record_begin(&r, c, d->size, d->rank, d->rrange, d->rrank)) return ind__failed(c);
    ind__origins origins = {.context = c};
    ir__origins_add(&origins, p->origin);
    r.ops.origins = &origins;
    uint32_t buffers[2] = {0};
    ind_value value = d->fn(&r.ops, r.body->var, d->rank + d->rrank, d->user);
    bool rows = value.id && ir__row_values_profitable(p, d, r.body, value);
    ind_dtype dtype = value.id ? (ind_dtype)r.body->inst[value.id].dtype : d->dtype;
    bool ok = !rows && ir__record_reduction(p, &r, d, value, buffers) &&
              ir__add_stored(p, &r, d->type, &origins, buffers, ind__reduction_results(d->type), results);
    ind__record_abort(&r);
    ind__free(c, origins.node);
    if (rows) return ir__reduce_stored(p, d, dtype, results);
    return ok ? IND_OK : ind__failed(c);
}

/* Records the scan and the stores of its results into new buffers. */
static bool ir__record_scan(ind__lowered *p, ind__recorder *r, const ind__scan_desc *d, uint32_t *buffers) {
    ind_ops *o = &r->ops;
    ind_expr at[IND_MAX_RANK];
    for (int k = 0; k < d->rank; k++) at[k] = r->body->var[k == d->dim ? d->rank - 1 : k < d->dim ? k : k - 1];
    ind_value x = d->fn(o, at, d->rank, d->user);
    if (x.id) x = ind_op_cast(o, x, ind__scan_sorts(d->kind) ? d->dtype : ind_dtype_compute(d->dtype));
    ind_value scan = ind__emit_scan(o, d->kind, x);
    int n = ind__scan_results(d->kind);
    for (int k = 0; k < n; k++) {
        ind_value v = n > 1 ? ind__emit_scan_part(o, scan, k) : scan;
        ind_dtype dtype = k ? IND_I64 : d->dtype;
        buffers[k] = v.id ? ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, dtype, d->size, d->rank) : 0;
        if (!buffers[k]) return false;
        ind__emit_store(o, buffers[k], at, d->rank, v);
    }
    return r->body->inst[r->body->num_inst - 1].op == IND_LOOP_STORE;
}

/* Begins the body of a scan along `dim` of `size`: R is that dimension, P are the others. */
static bool ir__record_rows(ind__lowered *p, ind__recorder *r, ind__origins *origins, const ind_expr *size, int rank,
                            int dim) {
    ind_expr outer[IND_MAX_RANK];
    for (int k = 0; k + 1 < rank; k++) outer[k] = size[k < dim ? k : k + 1];
    if (ind__record_begin(r, p->context, outer, rank - 1, size + dim, 1)) return false;
    ir__origins_add(origins, p->origin);
    r->ops.origins = origins;
    return true;
}

ind_status ind__box_scan(ind__lowered *p, const ind__scan_desc *d, ind__box **results) {
    ind_context *c = p->context;
    ind__recorder r;
    ind__origins origins = {.context = c};
    if (!ir__record_rows(p, &r, &origins, d->size, d->rank, d->dim)) return ind__failed(c);
    uint32_t buffers[2] = {0};
    bool ok = ir__record_scan(p, &r, d, buffers) &&
              ir__add_stored(p, &r, IND_REDUCE_NONE, &origins, buffers, ind__scan_results(d->kind), results);
    ind__record_abort(&r);
    ind__free(c, origins.node);
    return ok ? IND_OK : ind__failed(c);
}

/* The scan's combine function over STATEs. */
static bool ir__record_combine(ind_ops *o, const ind__combine_desc *d, const ind_value *element, ind_value *combined) {
    ind_value left[IND__MAX_STATES], right[IND__MAX_STATES];
    for (int k = 0; k < d->states; k++) {
        left[k] = ind__emit_state(o, o->dtype(o, element[k]), k);
        right[k] = ind__emit_state(o, o->dtype(o, element[k]), d->states + k);
        if (!left[k].id || !right[k].id) return false;
    }
    return d->combine(o, left, right, combined, d->user);
}

/* Stores results as ir__record_scan does. at: the element's index; its entry of the scan dimension counts down if
   reverse. */
static bool ir__store_combined(ind__lowered *p, ind_ops *o, const ind__combine_desc *d, ind_value scan,
                               const ind_value *element, const ind_expr *at, uint32_t *buffers) {
    for (int k = 0; k < d->num && scan.id; k++) {
        ind__inst part = {.op = IND_LOOP_PART, .dtype = (uint8_t)o->dtype(o, element[k]), .arg = {scan.id}};
        part.imm.i = k;
        ind_value v = o->emit(o, &part, NULL);
        if (v.id && d->exclusive) v = d->finish(o, at, k, v, d->user);
        if (v.id) v = ind_op_cast(o, v, ind_dtype_compute(d->dtype[k]));
        buffers[k] = v.id ? ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, d->dtype[k], d->size, d->rank) : 0;
        if (!buffers[k]) return false;
        ind__emit_store(o, buffers[k], at, d->rank, v);
    }
    return scan.id != 0;
}

static bool ir__record_combine_scan(ind__lowered *p, ind__recorder *r, const ind__combine_desc *d, uint32_t *buffers) {
    ind_ops *o = &r->ops;
    ind_expr at[IND_MAX_RANK];
    ind_value element[IND__MAX_STATES] = {{0}}, combined[IND__MAX_STATES] = {{0}};
    for (int k = 0; k < d->rank; k++) at[k] = r->body->var[k == d->dim ? d->rank - 1 : k < d->dim ? k : k - 1];
    if (d->reverse) {
        ind_expr last = ind_expr_sub(d->size[d->dim], ind_int(p->context, 1));
        at[d->dim] = ind_expr_sub(last, at[d->dim]);
    }
    if (!d->element(o, at, element, d->user) || !ir__record_combine(o, d, element, combined)) return false;
    ind_value scan = ind__emit_combine_scan(o, element, combined, d->states, d->exclusive);
    return ir__store_combined(p, o, d, scan, element, at, buffers) &&
           r->body->inst[r->body->num_inst - 1].op == IND_LOOP_STORE;
}

ind_status ind__box_combine(ind__lowered *p, const ind__combine_desc *d, ind__box **results) {
    ind_context *c = p->context;
    ind__recorder r;
    ind__origins origins = {.context = c};
    if (!ir__record_rows(p, &r, &origins, d->size, d->rank, d->dim)) return ind__failed(c);
    uint32_t buffers[IND__MAX_STATES] = {0};
    bool ok = ir__record_combine_scan(p, &r, d, buffers) &&
              ir__add_stored(p, &r, IND_REDUCE_NONE, &origins, buffers, d->num, results);
    ind__record_abort(&r);
    ind__free(c, origins.node);
    return ok ? IND_OK : ind__failed(c);
}

static void ir__box_symbols(ind_context *c, const ind__box *x, ind_expr *symbols) {
    for (int i = 0; i < x->rank; i++) symbols[i] = ind__index_symbol(c, 'i', i, x->size[i]);
}

/* Finds the storage's dimensions that show dimensions first .. first + count - 1 of a box, as bits; 0: none, all, or
   one that shows others, too. */
static uint32_t ir__storage_dims(ind_context *c, const ind__box *x, int first, int count) {
    ind_expr symbol[IND_MAX_RANK];
    ir__box_symbols(c, x, symbol);
    uint32_t found = 0;
    for (int k = 0; k < x->storage->rank; k++) {
        bool inside = false, outside = false;
        for (int d = 0; d < x->rank; d++) {
            const bool shows = ind__expr_depends(x->map[k], symbol[d]);
            inside = inside || (shows && d >= first && d < first + count);
            outside = outside || (shows && (d < first || d >= first + count));
        }
        if (inside && outside) return 0;
        found |= (uint32_t)inside << k;
    }
    return found == (1u << x->storage->rank) - 1 ? 0 : found;
}

void ind__box_put_last(ind__lowered *p, ind__box *x, int first, int count) {
    ind__storage *s = x ? x->storage : NULL;
    const uint32_t last = s ? ir__storage_dims(p->context, x, first, count) : 0;
    ind__buffer *b = s && s->buffer ? &p->buffer[s->buffer] : NULL;
    uint8_t order[IND_MAX_RANK] = {0};
    int n = 0;
    if (!last || (b && (b->kind != IND__BUFFER_COMPUTED || b->layout.ordered))) return;
    for (uint32_t part = 0; part < 2; part++)
        for (int k = 0; k < s->rank; k++)
            if ((last >> k & 1) == part) order[n++] = (uint8_t)k;
    if (b) ir__set_order(&b->layout, order);
    memcpy(s->order, order, sizeof order);
    s->ordered = true;
}

ind__box *ind__box_view(ind__lowered *p, ind__box *x, const ind_expr *size, int rank, const ind_expr *map) {
    ind_context *c = p->context;
    ind__box *b = x ? (ind__box *)ind__arena_alloc(&p->boxes, sizeof *b) : NULL;
    if (!b) return NULL;
    ind_expr from[IND_MAX_RANK];
    ir__box_symbols(c, x, from);
    b->storage = x->storage;
    b->rank = rank;
    b->identity = rank == x->storage->rank;
    for (int i = 0; i < rank; i++) b->size[i] = size[i];
    for (int k = 0; k < x->storage->rank; k++) {
        b->map[k] = x->identity ? map[k] : ind__substitute(x->map[k], from, map, x->rank);
        if (!ind__ok(b->map[k])) return NULL;
        b->identity = b->identity && b->map[k].id == ind__index_symbol(c, 'i', k, size[k]).id &&
                      size[k].id == x->storage->size[k].id;
    }
    return b;
}

/* True if x is a permutation of the whole storage; order[k]: the storage dimension at position k. */
static bool ir__is_permutation(ind_context *c, const ind__box *x, uint8_t *order) {
    if (x->identity || x->rank != x->storage->rank) return false;
    ind_expr symbol[IND_MAX_RANK];
    ir__box_symbols(c, x, symbol);
    for (int d = 0; d < x->rank; d++) {
        int found = -1;
        for (int k = 0; k < x->rank; k++)
            if (x->map[k].id == symbol[d].id) found = k;
        if (found < 0 || !ind_expr_same(x->size[d], x->storage->size[found])) return false;
        order[d] = (uint8_t)found;
    }
    return true;
}

ind__box *ind__box_reshape(ind__lowered *p, ind__box *x, const ind_expr *size, int rank) {
    ind_context *c = p->context;
    if (!x) return NULL;
    uint8_t order[IND_MAX_RANK];
    ind__buffer *b = x->storage->buffer ? &p->buffer[x->storage->buffer] : NULL;
    if (b && !b->layout.ordered && ir__is_permutation(c, x, order)) {
        ir__set_order(&b->layout, order);
    }
    ind_expr symbol[IND_MAX_RANK], map[IND_MAX_RANK];
    for (int i = 0; i < rank; i++) symbol[i] = ind__index_symbol(c, 'i', i, size[i]);
    ind__delinearise(c, ind__linearise(c, symbol, size, rank), x->size, x->rank, map);
    return ind__box_view(p, x, size, rank, map);
}

static ind_value ir__inline_load(ind_ops *o, const ind__inst *inst, const ind_expr *index, void *user) {
    (void)user;
    return o->emit(o, inst, index);
}

ind_value ind__box_load(ind_ops *o, const ind__box *x, const ind_expr *index, int rank) {
    if (!o || !x) return ir__no_value;
    if (rank != x->rank) {
        ind__fail(o->context, IND_ERROR_INVALID_ARGUMENT, "a load gives %d indices for a tensor of rank %d", rank,
                  x->rank);
        return ir__no_value;
    }
    const ind__storage *s = x->storage;
    ind_expr from[IND_MAX_RANK], at[IND_MAX_RANK];
    ir__box_symbols(o->context, x, from);
    for (int k = 0; k < s->rank; k++) {
        at[k] = x->identity ? index[k] : ind__substitute(x->map[k], from, index, rank);
        if (!ind__ok(at[k])) return ir__no_value;
    }
    if (s->buffer) return ind__emit_load(o, s->buffer, s->dtype, at, s->rank);
    for (uint32_t i = 0; o->origins && i < s->num_origins; i++) ir__origins_add(o->origins, s->origin[i]);
    ind__replay r = {.body = s->body, .var = at, .load = ir__inline_load};
    return ind__body_replay(o, &r);
}

/* =========================================================================================== src/ir/loops/realise.c */
/* ----------------------------------------------------------------------------------------------- >>realise */

static ind_status ir__realise_storage(ind__lowered *p, ind__storage *s) {
    uint32_t buffer = ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, s->dtype, s->size, s->rank);
    uint32_t loop = buffer ? ir__add_loop(p, IND_REDUCE_NONE, s->origin, s->num_origins) : UINT32_MAX;
    if (loop == UINT32_MAX) return ind__failed(p->context);
    ind_body *b = s->body; /* the loop takes ownership */
    s->body = NULL;
    s->buffer = buffer;
    if (s->ordered) ir__set_order(&p->buffer[buffer].layout, s->order);
    ind__recorder r = {.ops = {.context = p->context}, .body = b};
    ind__inst store = {.op = IND_LOOP_STORE, .dtype = b->inst[b->result].dtype, .arg = {b->result}};
    store.source = buffer;
    store.num_index = (uint32_t)s->rank;
    b->result = 0;
    p->loop[loop].body = b;
    p->loop[loop].parts = s->parts;
    p->loop[loop].output[0] = buffer;
    p->loop[loop].num_outputs = 1;
    p->buffer[buffer].loop = loop;
    return ir__recorder_append(&r, &store, b->var).id ? IND_OK : ind__failed(p->context);
}

ind_status ind__box_realise(ind__lowered *p, ind__box *x) {
    if (!x) return ind__failed(p->context);
    return x->storage->buffer ? IND_OK : ir__realise_storage(p, x->storage);
}

ind_status ind__box_mark_use(ind__lowered *p, ind__box *x, int users) {
    if (!x) return ind__failed(p->context);
    const ind__storage *s = x->storage;
    if (s->buffer) return IND_OK;
    bool many = (int)s->num_reads > p->policy.max_reads_shared || (int)s->num_ops > p->policy.max_ops_shared;
    /* inlined, every user reads all that the body reads; stored, one loop reads it and the users read the result */
    bool saves = users * s->read_bytes > s->read_bytes + users * s->bytes;
    bool shared = users > 1 && (many || saves);
    bool large = (int)s->num_reads > p->policy.max_reads || (int)s->num_ops > p->policy.max_ops;
    return shared || large ? ind__box_realise(p, x) : IND_OK;
}

ind__box *ind__box_copy(ind__lowered *p, ind__box *x) {
    ind__box *copy = x ? ind__box_pointwise(p, x->storage->dtype, x->size, x->rank, ir__copy_element, x) : NULL;
    return copy && !ind__box_realise(p, copy) ? copy : NULL;
}

/* ---- mutation ---- */

static uint32_t ir__first_version(const ind__lowered *p, uint32_t buffer) {
    while (p->buffer[buffer].mutates) buffer = p->buffer[buffer].mutates;
    return buffer;
}

uint32_t ind__buffer_home(const ind__lowered *p, uint32_t buffer) {
    uint32_t last = buffer;
    while (p->buffer[last].mutated_by) last = p->buffer[last].mutated_by;
    return p->buffer[last].output ? last : ir__first_version(p, buffer);
}

/* True if the load reads the element that the same point stores. Only then may a loop read a buffer that it mutates. */
static bool ir__loads_own_element(const ind_body *b, const ind__inst *load, uint32_t version) {
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *store = &b->inst[i];
        if (store->op != IND_LOOP_STORE || store->source != version) continue;
        if (store->num_index != load->num_index) return false;
        for (uint32_t k = 0; k < store->num_index; k++) {
            ind_expr e = b->index[store->index + k];
            if (e.id != b->index[load->index + k].id || ind__expr_has_kind(e, IND_SYMBOL_INDIRECT)) return false;
        }
    }
    return true;
}

static bool ir__body_loads(const ind_body *b, uint32_t buffer) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_LOAD && b->inst[i].source == buffer) return true;
    return false;
}

/* True if the loop may read the old contents while it stores the version: no load, or one load of the element that its
   point stores. */
static bool ir__reads_in_step(const ind_body *b, uint32_t old, uint32_t version, bool each_once) {
    uint32_t load = 0, loads = 0, stores = 0;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *x = &b->inst[i];
        if (x->op == IND_LOOP_LOAD && x->source == old) load = i, loads++;
        if (x->op == IND_LOOP_STORE && x->source == version) stores++;
    }
    return !loads || (each_once && loads == 1 && stores == 1 && ir__loads_own_element(b, &b->inst[load], version));
}

/* Stores every unrealised value that would read the old contents later. */
static ind_status ir__realise_readers(ind__lowered *p, uint32_t buffer) {
    for (ir__storage_link *s = (ir__storage_link *)p->storages; s; s = s->next) {
        ind_status status =
            s->storage.body && ir__body_loads(s->storage.body, buffer) ? ir__realise_storage(p, &s->storage) : IND_OK;
        if (status) return status;
    }
    return IND_OK;
}

/* Adds the new version of the buffer. The layout of the old version becomes fixed, as both share it. */
static uint32_t ir__add_version(ind__lowered *p, uint32_t old) {
    const ind_layout l = p->buffer[old].layout; /* a copy: adding a buffer may move the array */
    uint32_t made = ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, p->buffer[old].dtype, l.size, l.rank);
    if (!made) return 0;
    p->buffer[old].layout.ordered = true;
    p->buffer[made].layout = p->buffer[old].layout;
    p->buffer[made].mutates = old;
    p->buffer[old].mutated_by = made;
    return made;
}

static bool ir__stores_into(const ind_body *b, uint32_t buffer) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_STORE && b->inst[i].source == buffer) return true;
    return false;
}

static ind_status ir__add_scatter(ind__lowered *p, ind__recorder *r, uint32_t version, const ind__origins *origins) {
    uint32_t *kept, num_kept;
    if (!ir__keep_origins(p, origins, &kept, &num_kept)) return ind__failed(p->context);
    uint32_t loop = ir__add_loop(p, IND_REDUCE_NONE, kept, num_kept);
    if (loop == UINT32_MAX) return ind__failed(p->context);
    p->loop[loop].body = ind__record_end(r);
    if (!p->loop[loop].body) return ind__failed(p->context);
    p->loop[loop].output[0] = version;
    p->loop[loop].num_outputs = 1;
    p->buffer[version].loop = loop;
    return IND_OK;
}

/* Records the loop. The first attempt inlines unrealised values, which must not read memory that other points change.
   Then the readers of the old contents are stored and, if necessary, the second attempt reads the stored values. */
static ind_status ir__record_scatter(ind__lowered *p, ind__recorder *r, const ind__scatter_desc *d, uint32_t version,
                                     ind__origins *origins) {
    const uint32_t old = p->buffer[version].mutates;
    for (int attempt = 0; attempt < 2; attempt++) {
        if (ind__record_begin(r, p->context, d->size, d->rank, NULL, 0)) return ind__failed(p->context);
        r->ops.origins = origins;
        d->fn(&r->ops, r->body->var, d->rank, version, d->user);
        if (!ir__stores_into(r->body, version)) return ind__failed(p->context);
        const bool in_step = ir__reads_in_step(r->body, old, version, d->each_once);
        ind_status status = attempt ? IND_OK : ir__realise_readers(p, old);
        if (status || in_step) return status;
        if (attempt == 0) ind__record_abort(r);
    }
    return ind__fail(p->context, IND_ERROR_VERIFY, "a scatter reads elements that other points of it change");
}

ind_status ind__box_scatter(ind__lowered *p, ind__box *x, const ind__scatter_desc *d, ind__box **result) {
    ind_context *c = p->context;
    ind__recorder r = {0};
    *result = NULL;
    uint32_t old = x ? x->storage->buffer : 0;
    if (!old || !x->identity || p->buffer[old].mutated_by || p->buffer[old].output)
        return ind__fail(c, IND_ERROR_VERIFY, "a scatter needs a whole buffer that it may change");
    uint32_t version = ir__add_version(p, old);
    if (!version) return ind__failed(c);
    ind__origins origins = {.context = c};
    ir__origins_add(&origins, p->origin);
    ind_status status = ir__record_scatter(p, &r, d, version, &origins);
    if (!status) status = ir__add_scatter(p, &r, version, &origins);
    ind__record_abort(&r);
    ind__free(c, origins.node);
    if (status) return status;
    *result = ind__box_buffer(p, version);
    return *result ? IND_OK : ind__failed(c);
}

/* True if row-major, required or by default. */
static bool ir__is_contiguous(const ind_layout *l) {
    for (int i = 0; l->ordered && i < l->rank; i++)
        if (l->order[i] != i) return false;
    return true;
}

/* ---- extern calls ---- */

/* True if the box shows all elements of a contiguous buffer in order; then fixes the order of the buffer's
   dimensions. */
static bool ir__settle_contiguous(ind__lowered *p, const ind__box *x) {
    const ind__storage *s = x->storage;
    if (!s->buffer || !ir__is_contiguous(&p->buffer[s->buffer].layout)) return false;
    ind_expr at[IND_MAX_RANK];
    ir__box_symbols(p->context, x, at);
    if (!x->identity) {
        ind_expr seen = ind__linearise(p->context, at, x->size, x->rank);
        ind_expr lies = ind__linearise(p->context, x->map, s->size, s->rank);
        ind_expr all = ind_expr_product(p->context, x->size, x->rank);
        if (!ind__ok(seen) || !ind_expr_same(seen, lies) ||
            !ind_known_eq(all, ind_expr_product(p->context, s->size, s->rank)))
            return false;
    }
    p->buffer[s->buffer].layout.ordered = true;
    return true;
}

static bool ir__is_unit(ind_expr e) {
    int64_t v;
    return ind_expr_is_int(e, &v) && v == 1;
}

/* True if these are the strides of rows or columns of matrices that do not overlap (ind_extern_desc.strided). */
static bool ir__are_matrices(const ind_expr *size, const ind_expr *stride, int rank) {
    const int row = rank - 2, column = rank - 1;
    const bool rows = ir__is_unit(stride[column]), columns = ir__is_unit(stride[row]);
    bool fits =
        (rows && ind_known_le(size[column], stride[row])) || (columns && ind_known_le(size[row], stride[column]));
    for (int d = 0; fits && d < row; d++) fits = ind_known_le(ind_int(size[d].context, 0), stride[d]);
    return fits;
}

/* Finds strides and offset of matrices in a row-major buffer, and fixes the order of its dimensions. False: the call
   needs a copy. */
static bool ir__settle_strided(ind__lowered *p, const ind__box *x, ind__call_arg *arg) {
    const ind__storage *s = x->storage;
    if (x->rank < 2 || !s->buffer || !ir__is_contiguous(&p->buffer[s->buffer].layout)) return false;
    ind_expr at[IND_MAX_RANK], stride[IND_MAX_RANK], zero[IND_MAX_RANK];
    ir__box_symbols(p->context, x, at);
    ind_expr lies = ind__linearise(p->context, x->identity ? at : x->map, s->size, s->rank);
    for (int d = 0; d < x->rank; d++) {
        zero[d] = ind_int(p->context, 0);
        stride[d] = ind_expr_stride(lies, at[d]);
        for (int i = 0; i < x->rank; i++)
            if (!ind__ok(stride[d]) || ind__expr_depends(stride[d], at[i])) return false;
    }
    ind_expr offset = ind__substitute(lies, at, zero, x->rank);
    const int row = x->rank - 2, column = x->rank - 1; /* a dimension of size 1 may have any stride */
    if (ir__is_unit(x->size[column])) stride[column] = x->size[column];
    if (ir__is_unit(x->size[row])) stride[row] = x->size[ir__is_unit(stride[column]) ? column : row];
    if (!ind__ok(offset) || !ir__are_matrices(x->size, stride, x->rank)) return false;
    memcpy(arg->stride, stride, (size_t)x->rank * sizeof *stride);
    arg->offset = offset;
    p->buffer[s->buffer].layout.ordered = true;
    return true;
}

static bool ir__call_input(ind__lowered *p, ind__box *x, bool strided, ind__call_arg *arg) {
    if (!x || ind__box_realise(p, x)) return false;
    memset(arg, 0, sizeof *arg);
    if (!ir__settle_contiguous(p, x) && !(strided && ir__settle_strided(p, x, arg))) {
        x = ind__box_copy(p, x);
        if (!x || !ir__settle_contiguous(p, x)) return false;
    }
    arg->buffer = x->storage->buffer;
    arg->type = (ind_extern_type){.dtype = x->storage->dtype, .rank = x->rank};
    memcpy(arg->type.size, x->size, sizeof x->size);
    return true;
}

static uint32_t ir__call_result(ind__lowered *p, const ind_extern_type *t, ind__call_arg *arg) {
    uint32_t made = ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, t->dtype, t->size, t->rank);
    if (made) p->buffer[made].layout.ordered = true;
    if (arg) *arg = (ind__call_arg){.buffer = made, .type = *t};
    return made;
}

/* Adds the version that the call writes. Other later readers of the old contents store their values before the call. */
static uint32_t ir__call_version(ind__lowered *p, const ind__call_arg *input, ind__call_arg *arg) {
    if (p->buffer[input->buffer].mutated_by || p->buffer[input->buffer].output) {
        ind__fail(p->context, IND_ERROR_VERIFY, "a call overwrites a buffer that it may not change");
        return 0;
    }
    uint32_t made = ir__realise_readers(p, input->buffer) ? 0 : ir__add_version(p, input->buffer);
    *arg = (ind__call_arg){.buffer = made, .type = input->type};
    return made;
}

static bool ir__call_args(ind__lowered *p, const ind__call_desc *d, ind__extern_call *call) {
    ind__call_arg *out = call->arg + d->num_inputs;
    for (uint32_t k = 0; k < d->num_inputs; k++) {
        const bool strided = call->op && call->op->desc.strided && !d->overwrites[k];
        if (!ir__call_input(p, d->input[k], strided, &call->arg[k])) return false;
    }
    for (uint32_t k = 0; k < d->num_results; k++)
        if (!ir__call_result(p, &d->result[k], out + call->num_outputs++)) return false;
    for (uint32_t k = 0; k < d->num_inputs; k++)
        if (d->overwrites[k] && !ir__call_version(p, &call->arg[k], out + call->num_outputs++)) return false;
    ind_extern_type bytes = {.dtype = IND_U8, .rank = 1, .size = {d->workspace}};
    if (!ind__ok(d->workspace)) return true;
    call->workspace = ir__call_result(p, &bytes, NULL);
    return call->workspace != 0;
}

static bool ir__call_touch(ind__lowered *p, ind_ops *o, uint32_t buffer, bool store) {
    const ind__buffer *b = &p->buffer[buffer];
    ind_expr zero[IND_MAX_RANK];
    for (int d = 0; d < b->layout.rank; d++) zero[d] = ind_int(p->context, 0);
    if (!store) return ind__emit_load(o, buffer, b->dtype, zero, b->layout.rank).id;
    uint32_t before = ((ind__recorder *)o)->body->num_inst;
    ind_value v = ind_op_constant_int(o, 0, ind_dtype_compute(b->dtype));
    if (v.id) ind__emit_store(o, buffer, zero, b->layout.rank, v);
    return v.id && ((ind__recorder *)o)->body->num_inst > before;
}

static bool ir__call_record(ind__lowered *p, ind__recorder *r, const ind__extern_call *call) {
    bool ok = true;
    for (uint32_t k = 0; ok && k < call->num_inputs; k++) ok = ir__call_touch(p, &r->ops, call->arg[k].buffer, false);
    for (uint32_t k = 0; ok && k < call->num_outputs; k++)
        ok = ir__call_touch(p, &r->ops, call->arg[call->num_inputs + k].buffer, true);
    return ok && (!call->workspace || ir__call_touch(p, &r->ops, call->workspace, true));
}

static ind_status ir__call_add(ind__lowered *p, ind__recorder *r, const ind__extern_call *call, ind__box **results) {
    uint32_t *origin = (uint32_t *)ind__arena_copy(&p->arena, &p->origin, sizeof p->origin);
    uint32_t loop = origin ? ir__add_loop(p, IND_REDUCE_NONE, origin, 1) : UINT32_MAX;
    if (loop == UINT32_MAX) return ind__failed(p->context);
    ind__loop *l = &p->loop[loop];
    l->body = ind__record_end(r);
    if (!l->body) return ind__failed(p->context);
    for (uint32_t k = 0; k < call->num_outputs; k++)
        l->output[l->num_outputs++] = call->arg[call->num_inputs + k].buffer;
    if (call->workspace) l->output[l->num_outputs++] = call->workspace;
    for (uint32_t k = 0; k < l->num_outputs; k++) p->buffer[l->output[k]].loop = loop;
    for (uint32_t k = 0; k < call->num_outputs; k++)
        if (!(results[k] = ind__box_buffer(p, l->output[k]))) return ind__failed(p->context);
    return IND_OK;
}

ind_status ind__box_call(ind__lowered *p, const ind__call_desc *d, ind__box **results) {
    uint32_t most = d->num_inputs + d->num_results, versions = 0;
    for (uint32_t k = 0; k < d->num_inputs; k++) versions += d->overwrites[k];
    if (d->num_results + versions > IND_MAX_EXTERN_RESULTS)
        return ind__fail(p->context, IND_ERROR_LIMIT, "%s: at most %d results are possible", d->name,
                         IND_MAX_EXTERN_RESULTS);
    ind__extern_call *call = (ind__extern_call *)ind__arena_alloc(&p->arena, sizeof *call);
    if (!call) return ind__failed(p->context);
    call->op = ind__extern_find(p->context, d->name);
    call->name = ind__arena_string(&p->arena, d->name, strlen(d->name));
    call->arg = (ind__call_arg *)ind__arena_alloc(&p->arena, (most + versions + 1) * sizeof *call->arg);
    call->num_inputs = d->num_inputs;
    if (!call->name || !call->arg || !ir__call_args(p, d, call)) return ind__failed(p->context);
    ind__recorder r;
    if (ind__record_begin(&r, p->context, NULL, 0, NULL, 0)) return ind__failed(p->context);
    r.body->call = call;
    ind_status status = ir__call_record(p, &r, call) ? ir__call_add(p, &r, call, results) : ind__failed(p->context);
    ind__record_abort(&r);
    return status;
}

/* True if this buffer can be an output itself. Outputs are contiguous and have separate memory. */
static bool ir__can_be_output(const ind__lowered *p, uint32_t buffer) {
    const ind__buffer *b = &p->buffer[buffer];
    if (b->kind != IND__BUFFER_COMPUTED || b->output || b->mutated_by) return false;
    if (!b->mutates) return ir__is_contiguous(&b->layout);
    return p->buffer[ir__first_version(p, buffer)].kind == IND__BUFFER_COMPUTED && ir__is_contiguous(&b->layout);
}

ind_status ind__box_output(ind__lowered *p, ind__box *x, const char *name, uint32_t position) {
    if (!x) return ind__failed(p->context);
    const ind__storage *s = x->storage;
    ind__buffer *b;
    bool direct = x->identity && (!s->buffer || ir__can_be_output(p, s->buffer));
    if (!s->buffer) x->storage->ordered = false;
    if (!direct) x = ind__box_pointwise(p, s->dtype, x->size, x->rank, ir__copy_element, x);
    if (!x || ind__box_realise(p, x)) return ind__failed(p->context);
    b = &p->buffer[x->storage->buffer];
    b->output = position + 1;
    b->layout.ordered = true;
    b->name = ind__arena_string(&p->arena, name, strlen(name));
    return b->name ? IND_OK : ind__failed(p->context);
}

ind_expr ind__buffer_numel(const ind__buffer *b) {
    return ind_expr_product(b->layout.offset.context, b->layout.size, b->layout.rank);
}

ind_expr ind__buffer_bytes(const ind__buffer *b) {
    return ir__mul2(ind__buffer_numel(b), ind_int(b->layout.offset.context, ind_dtype_bytes(b->dtype)));
}

uint64_t ind__unbacked_in(const ind__unbacked *list, uint32_t num, ind_expr e) {
    uint64_t in = 0;
    if (!num || !ind__expr_has_kind(e, IND_SYMBOL_UNBACKED)) return 0;
    for (uint32_t u = 0; u < num; u++) in |= (uint64_t)ind__expr_depends(e, list[u].symbol) << u;
    return in;
}

uint64_t ind__body_unbacked(const ind__lowered *p, const ind_body *b) {
    uint64_t in = 0;
    if (!p->num_unbacked) return 0;
    for (int v = 0; v < b->rank + b->rrank; v++)
        in |= ind__unbacked_in(p->unbacked, p->num_unbacked, ind_expr_symbol(b->var[v])->extent);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *x = &b->inst[i];
        for (uint32_t k = 0; k < x->num_index; k++)
            in |= ind__unbacked_in(p->unbacked, p->num_unbacked, b->index[x->index + k]);
    }
    return in;
}

typedef struct ir__extreme {
    const ind__unbacked *list;
    uint32_t num;
} ir__extreme;

#define IND__MAX_EXTREME_DEPTH 64

static ind_expr ir__extreme_of(const ir__extreme *x, ind_expr e, bool most, int depth);

/* Sums, minima and maxima are nondecreasing in each term. */
static ind_expr ir__extreme_terms(const ir__extreme *x, ind_expr e, bool most, int depth) {
    ind_expr sum = {e.context, 0};
    for (int i = 0; i < ind_expr_num_args(e); i++) {
        ind_expr a = ir__extreme_of(x, ind_expr_arg(e, i), most, depth);
        if (!ind__ok(a)) return a;
        sum = i ? ind__expr_rebuild(e, (ind_expr[]){sum, a}, 2) : a;
    }
    return sum;
}

/* A product of nonnegative factors and integers, also negative ones. */
static ind_expr ir__extreme_product(const ir__extreme *x, ind_expr e, bool most, int depth) {
    ind_expr product = ind_int(e.context, 1), none = {e.context, 0};
    bool negative = false;
    for (int i = 0; i < ind_expr_num_args(e); i++) {
        int64_t value;
        if (ind_expr_is_int(ind_expr_arg(e, i), &value) && value < 0) negative = !negative;
    }
    for (int i = 0; i < ind_expr_num_args(e); i++) {
        ind_expr a = ind_expr_arg(e, i);
        if (!ind_expr_is_int(a, NULL)) {
            if (!ind_known_le(ind_int(e.context, 0), a)) return none;
            a = ir__extreme_of(x, a, most != negative, depth);
        }
        if (!ind__ok(a)) return none;
        product = ind_expr_mul(product, a);
    }
    return product;
}

/* x // d and x % d by a positive d without unbacked symbols; for other positive d only if x is nonnegative. */
static ind_expr ir__extreme_quotient(const ir__extreme *x, ind_expr e, bool most, int depth) {
    ind_context *c = e.context;
    ind_expr a = ind_expr_arg(e, 0), d = ind_expr_arg(e, 1), zero = ind_int(c, 0), none = {c, 0};
    bool known = !ind__unbacked_in(x->list, x->num, d), natural = ind_known_le(zero, a);
    if (!ind_known_lt(zero, d)) return none;
    if (ind_expr_query_kind(e) == IND_EXPR_MOD) {
        if (!most) return zero;
        return natural ? ir__extreme_of(x, a, true, depth) : none;
    }
    if (!known && !natural) return none;
    if (!known) return most ? ir__extreme_of(x, a, true, depth) : zero;
    a = ir__extreme_of(x, a, most, depth);
    return ind__ok(a) ? ind_expr_floordiv(a, d) : a;
}

static ind_expr ir__extreme_of(const ir__extreme *x, ind_expr e, bool most, int depth) {
    ind_expr none = {e.context, 0};
    ind_expr_kind kind = ind_expr_query_kind(e);
    if (!ind__ok(e) || depth > IND__MAX_EXTREME_DEPTH) return none;
    if (!ind__unbacked_in(x->list, x->num, e)) return e;
    if (kind == IND_EXPR_SYM) {
        for (uint32_t u = 0; u < x->num; u++)
            if (ind_expr_same(e, x->list[u].symbol))
                return most ? x->list[u].most : ind_int(e.context, ind_expr_symbol(e)->lo);
        return none;
    }
    if (kind == IND_EXPR_ADD || kind == IND_EXPR_MIN || kind == IND_EXPR_MAX)
        return ir__extreme_terms(x, e, most, depth + 1);
    if (kind == IND_EXPR_MUL) return ir__extreme_product(x, e, most, depth + 1);
    if (kind == IND_EXPR_FLOORDIV || kind == IND_EXPR_MOD) return ir__extreme_quotient(x, e, most, depth + 1);
    if (kind != IND_EXPR_WHERE) return none;
    ind_expr a = ir__extreme_of(x, ind_expr_arg(e, 1), most, depth + 1);
    ind_expr b = ir__extreme_of(x, ind_expr_arg(e, 2), most, depth + 1);
    if (!ind__ok(a) || !ind__ok(b)) return none;
    return most ? ind_expr_max(a, b) : ind_expr_min(a, b);
}

ind_expr ind__most(const ind__unbacked *list, uint32_t num, ind_expr e) {
    ir__extreme x = {list, num};
    return num ? ir__extreme_of(&x, e, true, 0) : e;
}

ind_expr ind__buffer_most_bytes(const ind__lowered *p, const ind__buffer *b) {
    ind_expr bytes = ind__buffer_bytes(b), most = ind__most(p->unbacked, p->num_unbacked, bytes);
    char text[200];
    if (!ind__ok(bytes) || ind__ok(most)) return most;
    ind_expr_print(bytes, text, sizeof text);
    ind__fail(p->context, IND_ERROR_NOT_SUPPORTED,
              "buffer %s: no bound in the declared sizes is found for its %s bytes", b->name, text);
    return most;
}

static bool ir__fix_layout(ind_context *c, ind_layout *l) {
    ind_expr stride = ind_int(c, 1);
    for (int k = l->rank - 1; k >= 0; k--) {
        int d = l->order[k];
        l->stride[d] = stride;
        stride = ir__mul2(stride, l->size[d]);
    }
    l->fixed = true;
    return ind__ok(stride);
}

/* Replaces the indices of an access by its offset in elements. */
static bool ir__flatten_access(ind__lowered *p, ind_body *b, ind__inst *i) {
    const ind_layout *l = &p->buffer[i->source].layout;
    ir__sum s = {.context = p->context};
    ir__sum_add(&s, l->offset, 1);
    for (int k = 0; k < l->rank; k++) ir__sum_add(&s, ir__mul2(b->index[i->index + (uint32_t)k], l->stride[k]), 1);
    ind_expr offset = ir__sum_finish(&s);
    if (!ind__ok(offset)) return false;
    if (!l->rank) { /* an access to a 0-d tensor has no index */
        ind_expr *slot = IND__PUSH(p->context, ind_expr, b->index, b->num_index, b->cap_index);
        if (!slot) return false;
        i->index = b->num_index - 1;
    }
    b->index[i->index] = offset;
    i->num_index = 1;
    return true;
}

/* Removes loops whose results are not read. In reverse order, so readers are removed before the loops that they
   read. */
static ind_status ir__drop_dead_loops(ind__lowered *p) {
    uint8_t *used = (uint8_t *)ind__alloc(p->context, p->num_buffers);
    if (!used) return ind__failed(p->context);
    for (uint32_t b = 1; b < p->num_buffers; b++) { /* versions come after the buffer that they change */
        const ind__buffer *x = &p->buffer[b];
        uint64_t sizes = 0;
        for (int d = 0; x->output && d < x->layout.rank; d++)
            sizes |= ind__unbacked_in(p->unbacked, p->num_unbacked, x->layout.size[d]);
        for (uint32_t u = 0; u < p->num_unbacked; u++) used[p->unbacked[u].buffer] |= sizes >> u & 1;
        used[b] |= x->output || (x->mutates ? used[x->mutates] : x->kind != IND__BUFFER_COMPUTED);
    }
    for (uint32_t l = p->num_loops; l-- > 0;) {
        ind__loop *loop = &p->loop[l];
        bool live = false;
        for (uint32_t k = 0; k < loop->num_outputs; k++) live = live || used[loop->output[k]];
        if (!live) { /* the buffer that it would change keeps its old version */
            for (uint32_t k = 0; k < loop->num_outputs; k++) {
                uint32_t old = p->buffer[loop->output[k]].mutates;
                if (old) p->buffer[old].mutated_by = 0;
            }
            ind__body_free(loop->body);
            loop->body = NULL;
            continue;
        }
        for (uint32_t i = 1; i < loop->body->num_inst; i++)
            if (loop->body->inst[i].op == IND_LOOP_LOAD) used[loop->body->inst[i].source] = 1;
        uint64_t sizes = ind__body_unbacked(p, loop->body);
        for (uint32_t u = 0; u < p->num_unbacked; u++) used[p->unbacked[u].buffer] |= sizes >> u & 1;
        for (uint32_t k = 0; k < loop->num_outputs; k++) used[p->buffer[loop->output[k]].mutates] = 1;
    }
    ind__free(p->context, used);
    uint32_t kept = 0;
    for (uint32_t l = 0; l < p->num_loops; l++) {
        if (!p->loop[l].body) continue;
        p->loop[kept] = p->loop[l];
        for (uint32_t k = 0; k < p->loop[kept].num_outputs; k++) p->buffer[p->loop[kept].output[k]].loop = kept;
        kept++;
    }
    p->num_loops = kept;
    return IND_OK;
}

/* ======================================================================================= src/ir/loops/concatenate.c */
/* ---- parts of concatenations ---- */

/* 1: proven true at all points, 0: proven false at all points, -1: neither. */
static int ir__settle_condition(ind_expr e) {
    int64_t v;
    if (ind_expr_is_int(e, &v)) return v != 0;
    ind_expr_kind kind = ind_expr_query_kind(e);
    if (kind == IND_EXPR_AND) {
        int all = 1;
        for (int k = 0; k < ind_expr_num_args(e); k++) {
            int one = ir__settle_condition(ind_expr_arg(e, k));
            if (!one) return 0;
            if (one < 0) all = -1;
        }
        return all;
    }
    if (kind == IND_EXPR_EQ || kind == IND_EXPR_NE || kind == IND_EXPR_OR) return ind_known_true(e) ? 1 : -1;
    if (kind != IND_EXPR_LE && kind != IND_EXPR_LT) return -1; /* a number, not a comparison */
    ind_expr a = ind_expr_arg(e, 0), b = ind_expr_arg(e, 1);
    if (kind == IND_EXPR_LE ? ind_known_le(a, b) : ind_known_lt(a, b)) return 1;
    return (kind == IND_EXPR_LE ? ind_known_lt(b, a) : ind_known_le(b, a)) ? 0 : -1;
}

/* Recorder that uses the conditions known within one part: comparisons become constants, so loads lose their mask or
   disappear. */
static ind_value ir__part_emit(ind_ops *o, const ind__inst *inst, const ind_expr *index) {
    const ind_body *b = ((ind__recorder *)o)->body;
    ind__inst known = *inst;
    const ind__inst *mask = &b->inst[inst->arg[0]]; /* of a load; or the operand of a cast */
    int decided = inst->op == IND_LOOP_INDEX ? ir__settle_condition(index[0]) : -1;
    if (decided >= 0) {
        known = (ind__inst){.op = IND_LOOP_CONSTANT, .dtype = inst->dtype};
        known.imm.i = decided;
    } else if (inst->op == IND_LOOP_CAST && inst->dtype == IND_BOOL && mask->op == IND_LOOP_CONSTANT &&
               mask->dtype == IND_I64) {
        return ind_op_constant_int(o, mask->imm.i, IND_BOOL);
    } else if (inst->op == IND_LOOP_LOAD && inst->arg[0] && mask->op == IND_LOOP_CONSTANT) {
        if (!mask->imm.i) return ind_op_constant(o, 0, (ind_dtype)inst->dtype);
        known.arg[0] = 0;
    }
    return ir__recorder_emit(o, &known, index);
}

/* One part, or several consecutive parts, as a separate loop. */
typedef struct ir__part_loop {
    ind_body *body;
    uint32_t first, end; /* range of parts */
    uint32_t source;     /* 1 + the last loop whose reduction it reads; 0: it is a copy */
    double saved;        /* bytes at the hints, if fused into that loop's kernel */
} ir__part_loop;

/* The variable, or 0 if its extent is 1. */
static ind_expr ir__point_index(const ind_body *b, int d) {
    int64_t n;
    bool one = ind_expr_is_int(ind_expr_symbol(b->var[d])->extent, &n) && n == 1;
    return one ? ind_int(b->context, 0) : b->var[d];
}

/* The loop's body over parts [first, end). Recorded twice, as only a replay drops dead instructions. */
static ind_body *ir__record_part(ind__lowered *p, const ind__loop *loop, uint32_t first, uint32_t end) {
    ind_context *c = p->context;
    const ind__parts *parts = loop->parts;
    const ind_body *from = loop->body;
    ind_body *made = NULL;
    ind_expr start = first ? parts->part[first - 1].end : ind_int(c, 0), size[IND_MAX_RANK], var[IND_MAX_RANK];
    for (int d = 0; d < from->rank; d++) size[d] = ind_expr_symbol(from->var[d])->extent;
    size[parts->dim] = ind_expr_sub(parts->part[end - 1].end, start);
    for (int pass = 0; pass < 2; pass++) {
        ind__recorder r;
        bool ok = ind__ok(size[parts->dim]) && !ind__record_begin(&r, c, size, from->rank, NULL, 0);
        if (!ok) break;
        for (int d = 0; d < from->rank; d++) var[d] = ir__point_index(r.body, d);
        if (!pass) r.ops.emit = ir__part_emit, var[parts->dim] = ind_expr_add(var[parts->dim], start);
        ok = ind__ok(var[parts->dim]) &&
             ind__body_replay(&r.ops, &(ind__replay){.body = pass ? made : from, .var = var}).id;
        ind__body_free(made);
        made = ok ? ind__record_end(&r) : NULL;
        if (!made) {
            ind__record_abort(&r);
            break;
        }
    }
    return made;
}

static ind_expr ir__points(const ind_body *b) {
    ind_expr n = ind_int(b->context, 1);
    for (int v = 0; v < b->rank + b->rrank; v++) n = ind_expr_mul(n, ind_expr_symbol(b->var[v])->extent);
    return n;
}

static bool ir__reduces(const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_REDUCE) return true;
    return false;
}

static double ir__bytes_at_hint(ind_expr points, ind_dtype dtype) {
    int64_t n = ind_hint(points);
    return n > 0 ? (double)n * (double)ind_dtype_bytes(dtype) : 0;
}

/* Uses of a buffer, for the splitting of concatenations. */
typedef struct ir__use {
    uint32_t readers; /* loops that read it */
    bool in_step;     /* one of them has as many points as it has elements, so it could be fused with its loop */
} ir__use;

static bool ir__is_product(const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_REDUCE && b->inst[i].reduction == IND_REDUCE_DOT) return true;
    return false;
}

/* True if the loop that computes the source of `read` could store the part itself, dimension by dimension. The elements
   must have the same order. The rows or columns of a matrix product must not be split, as its tiles would become those
   of many small products. The part is in memory as separate segments, each of all dimensions from `dim` on. */
static bool ir__makes_part(const ind__lowered *p, const ind_body *b, const ind__inst *read, int dim) {
    const ind__buffer *x = &p->buffer[read->source];
    const ind_body *from = p->loop[x->loop].body;
    ind_expr size[IND_MAX_RANK], point[IND_MAX_RANK];
    for (int d = 0; d < b->rank; d++) size[d] = ind_expr_symbol(b->var[d])->extent, point[d] = ir__point_index(b, d);
    ind_expr at = ind__linearise(p->context, point, size, b->rank);
    ind_expr lies = ind__linearise(p->context, b->index + read->index, x->layout.size, x->layout.rank);
    if (!ind__ok(at) || !ind_expr_same(at, lies)) return false;
    ind_expr parts = ind_expr_product(p->context, size, dim), outer = ind_int(p->context, 1);
    bool whole = !ir__is_product(from) || ind_known_eq(parts, outer);
    for (int d = 0; d < from->rank && !whole; d++) {
        outer = ind_expr_mul(outer, ind_expr_symbol(from->var[d])->extent);
        whole = ind_known_eq(parts, outer);
    }
    return whole;
}

/* Finds the reduction that the part reads, element by element or row by row. */
static void ir__find_source(const ind__lowered *p, const ir__use *use, int dim, ir__part_loop *part) {
    const ind_body *b = part->body;
    ind_expr points = ir__points(b);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__buffer *x = &p->buffer[b->inst[i].source];
        if (b->inst[i].op != IND_LOOP_LOAD || x->kind != IND__BUFFER_COMPUTED || x->mutates || x->mutated_by) continue;
        const ind_body *from = p->loop[x->loop].body;
        if (!ir__reduces(from) || from->call) continue;
        bool same = ind_known_eq(points, ind__buffer_numel(x));
        if (same ? !ir__makes_part(p, b, &b->inst[i], dim) : !ind_known_eq(points, ir__points(from))) continue;
        double bytes = ir__bytes_at_hint(points, x->dtype);
        part->saved += same && use[b->inst[i].source].readers == 1 && !x->output ? 2 * bytes : bytes;
        if (part->source <= x->loop) part->source = x->loop + 1;
    }
}

/* Splits the loop into parts with a source, one loop each, and runs of the other parts. Returns the number of loops; 0:
   the loop is not split or, with an error set, memory ran out. list has capacity for all parts. */
static uint32_t ir__split_into_parts(ind__lowered *p, const ir__use *use, const ind__loop *loop, ir__part_loop *list) {
    uint32_t n = 0;
    double saved = 0;
    for (uint32_t k = 0; k < loop->parts->num; k++) {
        ir__part_loop part = {.body = ir__record_part(p, loop, k, k + 1), .first = k, .end = k + 1};
        if (!part.body) break;
        ir__find_source(p, use, loop->parts->dim, &part);
        saved += part.saved;
        bool extends = !part.source && n && !list[n - 1].source;
        if (extends) list[n - 1].end = k + 1;
        ind__body_free(extends ? part.body : NULL);
        if (!extends) list[n++] = part;
    }
    bool ok = n && list[n - 1].end == loop->parts->num;
    for (uint32_t i = 0; ok && i < n; i++) {
        if (list[i].end - list[i].first == 1) continue;
        ind__body_free(list[i].body);
        list[i].body = ir__record_part(p, loop, list[i].first, list[i].end);
        ok = list[i].body != NULL;
    }
    const ind__buffer *whole = &p->buffer[loop->output[0]];
    double lost = use[loop->output[0]].in_step ? ir__bytes_at_hint(ind__buffer_numel(whole), whole->dtype) : 0;
    if (ok && saved > lost) return n;
    for (uint32_t i = 0; i < n; i++) ind__body_free(list[i].body);
    return 0;
}

/* Sorts by source, in execution order; copies come last. Each version depends on the one before. */
static void ir__sort_parts(ir__part_loop *list, uint32_t n) {
    for (uint32_t i = 1; i < n; i++) {
        ir__part_loop at = list[i];
        uint32_t k = i;
        for (; k && list[k - 1].source - 1 > at.source - 1; k--) list[k] = list[k - 1]; /* 0 - 1 comes last */
        list[k] = at;
    }
}

static bool ir__part_origins(ind__lowered *p, const ind__parts *parts, const ir__part_loop *from, ind__loop *to) {
    ind__origins origins = {.context = p->context};
    ir__origins_add(&origins, parts->origin);
    for (uint32_t k = from->first; k < from->end; k++)
        for (uint32_t i = 0; i < parts->part[k].num_origins; i++) ir__origins_add(&origins, parts->part[k].origin[i]);
    bool ok = ir__keep_origins(p, &origins, &to->origin, &to->num_origins);
    ind__free(p->context, origins.node);
    return ok;
}

static void ir__store_to(ind_body *b, uint32_t from, uint32_t to) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_STORE && b->inst[i].source == from) b->inst[i].source = to;
}

/* A concatenation that is split: loop number `loop` becomes made[first..first + num). */
typedef struct ir__replaced_loop {
    uint32_t loop, first, num;
} ir__replaced_loop;

typedef struct ir__loop_splits {
    ir__use *use;
    ir__part_loop *list; /* of one concatenation */
    ind__loop *made;
    ir__replaced_loop *cut;
    uint32_t num_made, num_cuts;
} ir__loop_splits;

static void ir__mark_part(ind__buffer *b, const ind__parts *parts, const ir__part_loop *at) {
    b->part_dim = parts->dim;
    b->part_end = parts->part[at->end - 1].end;
    b->part_begin = at->first ? parts->part[at->first - 1].end : ind_int(b->part_end.context, 0);
}

/* The last loop writes the buffer itself; the others write earlier versions of it. */
static bool ir__make_parts(ind__lowered *p, ir__loop_splits *s, uint32_t number, uint32_t n) {
    const ind__loop *loop = &p->loop[number];
    const uint32_t whole = loop->output[0];
    uint32_t last = 0;
    ir__sort_parts(s->list, n);
    s->cut[s->num_cuts++] = (ir__replaced_loop){number, s->num_made, n};
    for (uint32_t i = 0; i < n; i++)
        s->made[s->num_made++] = (ind__loop){.note = loop->note, .body = s->list[i].body, .num_outputs = 1};
    for (uint32_t i = 0; i < n; i++) {
        ind__loop *to = &s->made[s->num_made - n + i];
        const ind__buffer b = p->buffer[whole]; /* a copy: adding a buffer may move the array */
        bool own = i + 1 == n;
        uint32_t version = own ? whole : ir__add_buffer(p, NULL, b.kind, b.dtype, b.layout.size, b.layout.rank);
        if (!version || !ir__part_origins(p, loop->parts, &s->list[i], to)) return false;
        ir__store_to(to->body, whole, version);
        to->output[0] = version;
        p->buffer[version].layout = b.layout;
        p->buffer[version].mutates = last;
        ir__mark_part(&p->buffer[version], loop->parts, &s->list[i]);
        if (last) p->buffer[last].mutated_by = version;
        last = version;
    }
    return true;
}

static bool ir__has_parts(const ind__lowered *p, const ind__loop *l) {
    const ind__buffer *b = &p->buffer[l->output[0]];
    return l->parts && l->parts->num > 1 && l->num_outputs == 1 && !l->body->rrank && !b->mutates &&
           !ind__body_unbacked(p, l->body);
}

static void ir__count_uses(const ind__lowered *p, ir__use *use) {
    uint32_t *last = (uint32_t *)ind__alloc(p->context, p->num_buffers * sizeof *last);
    for (uint32_t l = 0; last && l < p->num_loops; l++) {
        const ind_body *b = p->loop[l].body;
        ind_expr points = {NULL, 0};
        for (uint32_t i = 1; i < b->num_inst; i++) {
            uint32_t x = b->inst[i].source;
            if (b->inst[i].op != IND_LOOP_LOAD || last[x] == l + 1) continue;
            last[x] = l + 1;
            use[x].readers++;
            const ind__buffer *read = &p->buffer[x];
            if (read->kind != IND__BUFFER_COMPUTED || !p->loop[read->loop].parts || b->call) continue;
            if (!ind__ok(points)) points = ir__points(b);
            use[x].in_step |= ind_known_eq(points, ind__buffer_numel(read));
        }
    }
    ind__free(p->context, last);
}

/* Maximum number of loops that concatenations are split into; 0: there are no concatenations. */
static uint32_t ir__count_parts(const ind__lowered *p) {
    uint32_t n = 0;
    for (uint32_t l = 0; l < p->num_loops; l++) n += ir__has_parts(p, &p->loop[l]) ? p->loop[l].parts->num : 0;
    return n;
}

/* Replaces each split loop by its new loops. */
static bool ir__insert_parts(ind__lowered *p, ir__loop_splits *s) {
    uint32_t from = p->num_loops, to, at = s->num_cuts;
    if (!at) return true;
    if (!ind__grow(p->context, (void **)&p->loop, &p->num_loops, &p->cap_loops, sizeof *p->loop, s->num_made - at))
        return false;
    for (to = p->num_loops; from-- > 0;) { /* backwards, as to >= from */
        const ir__replaced_loop *cut = at && s->cut[at - 1].loop == from ? &s->cut[--at] : NULL;
        if (cut) ind__body_free(p->loop[from].body);
        for (uint32_t k = cut ? cut->num : 1; k-- > 0;) p->loop[--to] = cut ? s->made[cut->first + k] : p->loop[from];
    }
    s->num_made = 0;
    for (uint32_t l = 0; l < p->num_loops; l++)
        for (uint32_t k = 0; k < p->loop[l].num_outputs; k++) p->buffer[p->loop[l].output[k]].loop = l;
    return true;
}

static ind_status ir__split_parts(ind__lowered *p) {
    ind_context *c = p->context;
    uint32_t most = p->policy.disable_parts ? 0 : ir__count_parts(p);
    if (!most) return IND_OK;
    ir__loop_splits s = {.use = (ir__use *)ind__alloc(c, p->num_buffers * sizeof *s.use),
                         .list = (ir__part_loop *)ind__alloc(c, most * sizeof *s.list),
                         .made = (ind__loop *)ind__alloc(c, most * sizeof *s.made),
                         .cut = (ir__replaced_loop *)ind__alloc(c, most * sizeof *s.cut)};
    bool ok = s.use && s.list && s.made && s.cut;
    if (ok) ir__count_uses(p, s.use);
    for (uint32_t l = 0; ok && l < p->num_loops; l++) {
        uint32_t n = ir__has_parts(p, &p->loop[l]) ? ir__split_into_parts(p, s.use, &p->loop[l], s.list) : 0;
        ok = !n || ir__make_parts(p, &s, l, n);
    }
    ok = ok && ir__insert_parts(p, &s);
    for (uint32_t i = 0; i < s.num_made; i++) ind__body_free(s.made[i].body);
    ind__free(c, s.cut);
    ind__free(c, s.made);
    ind__free(c, s.list);
    ind__free(c, s.use);
    return ok ? IND_OK : ind__failed(c);
}

ind_status ind__lowered_fix_layouts(ind__lowered *p) {
    if (p->layouts_fixed) return IND_OK;
    ind_status status = ir__drop_dead_loops(p);
    if (!status) status = ir__split_parts(p);
    if (status) return status;
    for (uint32_t b = 1; b < p->num_buffers; b++)
        if (!ir__fix_layout(p->context, &p->buffer[b].layout)) return ind__failed(p->context);
    for (uint32_t l = 0; l < p->num_loops; l++) {
        ind_body *body = p->loop[l].body;
        for (uint32_t i = 1; i < body->num_inst; i++) {
            bool access = body->inst[i].op == IND_LOOP_LOAD || body->inst[i].op == IND_LOOP_STORE;
            if (access && !ir__flatten_access(p, body, &body->inst[i])) return ind__failed(p->context);
        }
    }
    p->layouts_fixed = true;
    return IND_OK;
}

/* ======================================================================================== src/ir/loops/two_stages.c */
/* ---- a reduction in two stages ---- */

/* The two results of the WELFORD at `reduce` are stored, and nothing else is. */
static bool ir__stores_parts(const ind_body *b, uint32_t reduce) {
    for (uint32_t i = reduce + 1; i < b->num_inst; i++) {
        const ind__inst *x = &b->inst[i];
        bool part = x->op == IND_LOOP_PART && x->arg[0] == reduce;
        bool store = x->op == IND_LOOP_STORE && !x->arg[1] && !x->reduction && x->arg[0] == i - 1 &&
                     b->inst[i - 1].op == IND_LOOP_PART;
        if (!part && !store) return false;
    }
    return b->inst[b->num_inst - 1].op == IND_LOOP_STORE;
}

uint32_t ind__body_splits(const ind_body *b) {
    uint32_t reduce = 0, stores = 0;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *x = &b->inst[i];
        if (reduce) { /* only a chain that ends in one store may follow */
            bool store = x->op == IND_LOOP_STORE, plain = store || !x->num_index;
            if (stores || !plain || x->arg[0] != i - 1 || x->arg[1] || (store && x->reduction)) return 0;
            stores += store;
        }
        if (x->op == IND_LOOP_REDUCE) {
            bool combines = x->reduction == IND_REDUCE_SUM || x->reduction == IND_REDUCE_PROD ||
                            x->reduction == IND_REDUCE_MAX || x->reduction == IND_REDUCE_MIN ||
                            x->reduction == IND_REDUCE_ANY;
            if (x->reduction == IND_REDUCE_WELFORD && !reduce) return ir__stores_parts(b, i) ? i : 0;
            if (reduce || !combines || ind_dtype_compute((ind_dtype)x->dtype) != (ind_dtype)x->dtype) return 0;
            reduce = i;
        }
    }
    return stores ? reduce : 0;
}

/* The extents of variables [from, to) of a body. */
static void ir__extents(const ind_body *b, int from, int to, ind_expr *size) {
    for (int v = from; v < to; v++) size[v - from] = ind_expr_symbol(b->var[v])->extent;
}

/* Ends a recording if it has all its results; NULL if not. */
static ind_body *ir__record_finish(ind__recorder *r, bool ok) {
    if (ok && r->body->inst[r->body->num_inst - 1].op == IND_LOOP_STORE) return ind__record_end(r);
    ind__record_abort(r);
    return NULL;
}

/* Everything up to the REDUCE, over `rank` P dimensions of `all`, stored into `partial`. size: P of the body, and its R
   or the dimensions that replace R. Further results are stored into the buffers after `partial`. */
static ind_body *ir__first_stage(ind__lowered *p, const ind_body *b, uint32_t reduce, const ind_expr *size, int rank,
                                 int all, uint32_t partial) {
    ind_expr own[2 * IND_MAX_RANK], var[2 * IND_MAX_RANK];
    ind__recorder r;
    ir__extents(b, b->rank, b->rank + b->rrank, own);
    if (ind__record_begin(&r, p->context, size, rank, size + rank, all - rank)) return NULL;
    ind_expr at = ind__linearise(p->context, r.body->var + b->rank, size + b->rank, all - b->rank);
    ind__delinearise(p->context, at, own, b->rrank, var + b->rank);
    bool same = all == b->rank + b->rrank;
    for (int v = b->rank; v < all && same; v++) same = ind_expr_same(size[v], own[v - b->rank]);
    for (int v = 0; v < b->rank || (same && v < all); v++) var[v] = r.body->var[v];
    ind_body front = *b;
    front.num_inst = reduce + 1, front.result = reduce;
    ind_value v = ind__body_replay(&r.ops, &(ind__replay){.body = &front, .var = var});
    ind_expr index = ind__linearise(p->context, r.body->var, size, rank);
    bool ok = v.id && ind__ok(index);
    for (int k = 0, n = ind__reduction_results((ind_reduction)b->inst[reduce].reduction); ok && k < n; k++) {
        ind_value part = n > 1 ? ind__emit_part(&r.ops, v, k) : v;
        if (part.id) ind__emit_store(&r.ops, partial + (uint32_t)k, &index, 1, part);
        ok = part.id != 0;
    }
    return ir__record_finish(&r, ok);
}

/* The element of the partial result into which a run of rows combines the value of a point; size: the extents of the
   body. */
static ind_expr ir__run_index(const ind_body *b, const ind_expr *size, int64_t run) {
    ind_expr row = ind__linearise(b->context, b->var, size, b->rank);
    ind_expr column = ind__linearise(b->context, b->var + b->rank, size + b->rank, b->rrank);
    ind_expr columns = ind_expr_product(b->context, size + b->rank, b->rrank);
    return ind_expr_add(ind_expr_mul(ind_expr_floordiv(row, ind_int(b->context, run)), columns), column);
}

/* Everything before the REDUCE with R and P exchanged; the values are combined with those of the other rows of the
   run. */
static ind_body *ir__first_runs(ind__lowered *p, const ind_body *b, uint32_t reduce, uint32_t partial) {
    ind_expr size[2 * IND_MAX_RANK], var[2 * IND_MAX_RANK];
    ind__recorder r;
    int all = b->rank + b->rrank;
    ir__extents(b, b->rank, all, size);
    ir__extents(b, 0, b->rank, size + b->rrank);
    if (ind__record_begin(&r, p->context, size, b->rrank, size + b->rrank, b->rank)) return NULL;
    for (int v = 0; v < all; v++) var[v] = r.body->var[v < b->rank ? b->rrank + v : v - b->rank];
    ind_body front = *b;
    front.num_inst = reduce, front.result = b->inst[reduce].arg[0];
    ind_value v = ind__body_replay(&r.ops, &(ind__replay){.body = &front, .var = var});
    ind_expr index = ir__run_index(r.body, size, p->buffer[partial].run);
    ind__inst store = {.op = IND_LOOP_STORE, .dtype = b->inst[reduce].dtype, .reduction = b->inst[reduce].reduction};
    store.flags = IND__INST_RUN, store.arg[0] = v.id, store.source = partial, store.num_index = 1;
    if (v.id && ind__ok(index)) r.ops.emit(&r.ops, &store, &index);
    return ir__record_finish(&r, v.id != 0);
}

/* The sizes of P and the number of runs; returns the number of sizes. */
static int ir__run_sizes(ind__lowered *p, const ind_body *b, int64_t run, ind_expr *size) {
    ind_expr rows[IND_MAX_RANK];
    ir__extents(b, 0, b->rank, size);
    ir__extents(b, b->rank, b->rank + b->rrank, rows);
    size[b->rank] = ind_expr_ceildiv(ind_expr_product(p->context, rows, b->rrank), ind_int(p->context, run));
    return b->rank + 1;
}

static uint32_t ir__add_partial(ind__lowered *p, const ind_body *b, uint32_t reduce, const ind_expr *size, int rank,
                                int64_t run) {
    ind_expr shape[2 * IND_MAX_RANK]; /* the runs are outermost, so adjacent columns are adjacent in memory */
    for (int d = 0; d < rank; d++) shape[d] = !run ? size[d] : size[d ? d - 1 : rank - 1];
    uint32_t partial = ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, (ind_dtype)b->inst[reduce].dtype, shape, rank);
    if (!partial || !ir__fix_layout(p->context, &p->buffer[partial].layout)) return 0;
    p->buffer[partial].partial = true;
    p->buffer[partial].run = run;
    return partial;
}

/* The REDUCE of `partial`, and all that follows it. */
static ind_body *ir__second_stage(ind__lowered *p, const ind_body *b, uint32_t reduce, const ind_expr *size, int rank,
                                  uint32_t partial) {
    const ind__inst *in = &b->inst[reduce];
    ind__recorder r;
    if (ind__record_begin(&r, p->context, size, b->rank, size + b->rank, rank - b->rank)) return NULL;
    ind_expr at = ind__linearise(p->context, r.body->var, size, rank);
    if (p->buffer[partial].run) {
        ind_expr columns = ind_expr_product(p->context, size, b->rank);
        at = ind__linearise(p->context, r.body->var, size, b->rank);
        at = ind_expr_add(ind_expr_mul(r.body->var[b->rank], columns), at);
    }
    ind_value v = ind__emit_load(&r.ops, partial, (ind_dtype)in->dtype, &at, 1);
    v = ind__emit_reduce(&r.ops, (ind_reduction)in->reduction, v, ir__no_value, 0);
    for (uint32_t i = reduce + 1; v.id && i < b->num_inst; i++) {
        ind__inst x = b->inst[i];
        ind_expr index = at;
        x.arg[0] = v.id;
        if (x.op == IND_LOOP_STORE) index = ind__substitute(b->index[x.index], b->var, r.body->var, b->rank);
        v = ind__ok(index) ? r.ops.emit(&r.ops, &x, &index) : ir__no_value;
    }
    return ir__record_finish(&r, v.id != 0);
}

/* ---- WELFORD in two stages. All rows have n elements. The mean is the mean of the row means. The sum of squared
   deviations is the sum within the rows, plus n times the sum over the row means (Chan et al. 1979). */

enum { IR__WELFORD_LOOPS = 4 };

/* The stored result k of the body; NULL: it is not stored. */
static const ind__inst *ir__stored_part(const ind_body *b, int k) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_STORE && b->inst[b->inst[i].arg[0]].imm.i == k) return &b->inst[i];
    return NULL;
}

/* Stores a value at the index of a store of `b`. */
static void ir__store_as(ind_ops *o, const ind_body *b, const ind__inst *store, const ind_expr *var, ind_value v) {
    ind_expr index = ind__substitute(b->index[store->index], b->var, var, b->rank);
    if (v.id && ind__ok(index)) ind__emit_store(o, store->source, &index, 1, v);
}

/* Buffers of one element per point of P. */
typedef struct ir__welford_split {
    const ind_body *body;
    const ind_expr *size; /* P, then the range of the second stage */
    int rank;
    uint32_t partial; /* means of the rows; then their sums of squared deviations */
    uint32_t between; /* sum of squared deviations of the means */
    uint32_t within;  /* sum of the rows' sums */
    ind_expr count;   /* elements of a row */
} ir__welford_split;

/* Reduces the rows' means (0) or their sums (1). */
static ind_body *ir__reduce_parts(ind__lowered *p, const ir__welford_split *w, int k) {
    const ind_body *b = w->body;
    const ind__inst *mean = ir__stored_part(b, 0);
    ind__recorder r;
    if (ind__record_begin(&r, p->context, w->size, b->rank, w->size + b->rank, w->rank - b->rank)) return NULL;
    ind_expr at = ind__linearise(p->context, r.body->var, w->size, w->rank);
    ind_expr to = ind__linearise(p->context, r.body->var, w->size, b->rank);
    ind_dtype dtype = p->buffer[w->partial].dtype;
    ind_value v = ind__emit_load(&r.ops, w->partial + (uint32_t)k, dtype, &at, 1);
    v = ind__emit_reduce(&r.ops, k ? IND_REDUCE_SUM : IND_REDUCE_WELFORD, v, ir__no_value, 0);
    if (!k && v.id && mean) ir__store_as(&r.ops, b, mean, r.body->var, ind__emit_part(&r.ops, v, 0));
    ind_value sum = k || !v.id || !w->between ? v : ind__emit_part(&r.ops, v, 1);
    if (sum.id && (k ? w->within : w->between)) ind__emit_store(&r.ops, k ? w->within : w->between, &to, 1, sum);
    return ir__record_finish(&r, sum.id != 0);
}

/* Stores within + count * between. */
static ind_body *ir__add_parts(ind__lowered *p, const ir__welford_split *w) {
    const ind_body *b = w->body;
    ind__recorder r;
    int64_t number;
    if (ind__record_begin(&r, p->context, w->size, b->rank, NULL, 0)) return NULL;
    ind_expr at = ind__linearise(p->context, r.body->var, w->size, b->rank);
    ind_dtype dtype = p->buffer[w->partial].dtype;
    ind_value n = ind_expr_is_int(w->count, &number)
                      ? ind_op_constant(&r.ops, (double)number, dtype)
                      : ind_op_cast(&r.ops, ind_op_index(&r.ops, w->count, IND_I64), dtype);
    ind_value between = ind__emit_load(&r.ops, w->between, dtype, &at, 1);
    ind_value within = ind__emit_load(&r.ops, w->within, dtype, &at, 1);
    ind_value sum = ind_op_add(&r.ops, within, ind_op_mul(&r.ops, between, n));
    ir__store_as(&r.ops, b, ir__stored_part(b, 1), r.body->var, sum);
    return ir__record_finish(&r, sum.id != 0);
}

static bool ir__set_loop(ind__loop *l, const ind__loop *whole, ind_body *body, ind_reduction reduction) {
    *l = *whole;
    l->body = body, l->reduction = reduction, l->num_outputs = 0;
    for (uint32_t i = 1; body && i < body->num_inst; i++)
        if (body->inst[i].op == IND_LOOP_STORE) l->output[l->num_outputs++] = body->inst[i].source;
    return body != NULL;
}

static uint32_t ir__add_result(ind__lowered *p, const ind_body *b, ind_dtype dtype) {
    ind_expr size[2 * IND_MAX_RANK];
    ir__extents(b, 0, b->rank, size);
    uint32_t made = ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, dtype, size, b->rank);
    return made && ir__fix_layout(p->context, &p->buffer[made].layout) ? made : 0;
}

/* Adds the loops of the second stage to made[0..*num). */
static bool ir__second_welford(ind__lowered *p, const ind__loop *whole, ir__welford_split *w, ind__loop *made,
                               uint32_t *num) {
    const bool deviations = ir__stored_part(whole->body, 1) != NULL;
    const ind_dtype dtype = p->buffer[w->partial].dtype;
    if (deviations)
        w->between = ir__add_result(p, whole->body, dtype), w->within = ir__add_result(p, whole->body, dtype);
    if (deviations && (!w->between || !w->within)) return false;
    for (int k = 0; k < (deviations ? 2 : 1); k++, ++*num)
        if (!ir__set_loop(&made[*num], whole, ir__reduce_parts(p, w, k), k ? IND_REDUCE_SUM : IND_REDUCE_WELFORD))
            return false;
    if (!deviations) return true;
    if (!ir__set_loop(&made[*num], whole, ir__add_parts(p, w), IND_REDUCE_NONE)) return false;
    ++*num;
    return true;
}

/* ---- the loops of both stages */

/* The sizes of P and the range of the second stage; then, without runs, that of the first one. Returns the rank of the
   partial results; *all: the number of sizes. */
static int ir__stage_sizes(ind__lowered *p, const ind_body *b, const ind__split *split, ind_expr *size, int *all) {
    if (split->run) return *all = ir__run_sizes(p, b, split->run, size);
    ir__extents(b, 0, b->rank + b->rrank, size);
    for (int k = 0; k < split->num_sizes; k++) size[b->rank + k] = split->size[k];
    *all = b->rank + (split->size ? split->num_sizes : b->rrank);
    return b->rank + split->outer;
}

/* Adds the loops that replace `whole` to made[0..*num); `whole` keeps its body until all exist. */
static bool ir__split_loop(ind__lowered *p, const ind__loop *whole, const ind__split *split,
                           ind__loop made[IR__WELFORD_LOOPS], uint32_t *num) {
    const ind_body *b = whole->body;
    const uint32_t reduce = ind__body_splits(b);
    const bool welford = b->inst[reduce].reduction == IND_REDUCE_WELFORD;
    ind_expr size[2 * IND_MAX_RANK];
    int all, rank = ir__stage_sizes(p, b, split, size, &all);
    uint32_t partial = ir__add_partial(p, b, reduce, size, rank, split->run);
    if (!partial || (welford && !ir__add_partial(p, b, reduce, size, rank, 0))) return false;
    ind_body *first =
        split->run ? ir__first_runs(p, b, reduce, partial) : ir__first_stage(p, b, reduce, size, rank, all, partial);
    if (!ir__set_loop(&made[(*num)++], whole, first, whole->reduction)) return false;
    made[0].note = split->run ? "first stage of two, by runs of rows" : "first stage of two";
    ir__welford_split w = {.body = b, .size = size, .rank = rank, .partial = partial};
    w.count = ind_expr_product(p->context, size + rank, all - rank);
    if (welford) return ir__second_welford(p, whole, &w, made, num);
    return ir__set_loop(&made[(*num)++], whole, ir__second_stage(p, b, reduce, size, rank, partial), whole->reduction);
}

ind_status ind__lowered_split(ind__lowered *p, const ind__split *split) {
    uint32_t splits = 0, num = p->num_loops, made = 0;
    for (uint32_t l = 0; l < num; l++) splits += split[l].outer || split[l].run;
    if (!splits) return IND_OK;
    const size_t most = (size_t)num + (size_t)splits * (IR__WELFORD_LOOPS - 1);
    ind__loop *loop = (ind__loop *)ind__alloc(p->context, most * sizeof *loop);
    if (!loop) return ind__failed(p->context);
    bool ok = true;
    for (uint32_t l = 0; l < num; l++) {
        ind__loop stage[IR__WELFORD_LOOPS];
        uint32_t stages = 0;
        bool splits_here = ok && (split[l].outer || split[l].run);
        if (splits_here) ok = ir__split_loop(p, &p->loop[l], &split[l], stage, &stages);
        if (splits_here && ok) {
            ind__body_free(p->loop[l].body);
            for (uint32_t k = 0; k < stages; k++) loop[made++] = stage[k];
        } else {
            for (uint32_t k = 0; k < stages; k++) ind__body_free(stage[k].body);
            loop[made++] = p->loop[l];
        }
    }
    ind__free(p->context, p->loop);
    p->loop = loop, p->num_loops = made, p->cap_loops = (uint32_t)most;
    for (uint32_t l = 0; l < made; l++)
        for (uint32_t k = 0; k < loop[l].num_outputs; k++) p->buffer[loop[l].output[k]].loop = l;
    return ok ? IND_OK : ind__failed(p->context);
}

/* ============================================================================================ src/ir/loops/verify.c */
/* ------------------------------------------------------------------------------------------------ >>verify */

static ind_status ir__body_broken(const ind_body *b, uint32_t inst, const char *rule) {
    return ind__fail(b->context, IND_ERROR_VERIFY, "loop body, value %u (%s): %s", inst,
                     inst < b->num_inst ? ind__loop_op_name((ind_loop_op)b->inst[inst].op) : "?", rule);
}

static int ir__call_arity(const ind__inst *i) {
    return i->imm.function ? i->imm.function->num_args : 0;
}

static ind_status ir__verify_call(const ind_body *b, uint32_t n) {
    const ind__inst *i = &b->inst[n];
    const ind__function *f = i->imm.function;
    if (!f) return ir__body_broken(b, n, "it calls no function");
    for (int k = 0; k < f->num_args; k++)
        if (b->inst[i->arg[k]].dtype != ind_dtype_compute(f->arg_dtype[k]))
            return ir__body_broken(b, n, "an argument has another type than the function takes");
    return i->dtype == ind_dtype_compute(f->dtype) ? IND_OK : ir__body_broken(b, n, "its type is not the function's");
}

/* True if the body may have SCAN n in addition to the earlier ones. */
static bool ir__may_scan(const ind_body *b, uint32_t n) {
    bool sorts = ind__scan_sorts((ind_scan)b->inst[n].reduction);
    int scans = 1;
    for (uint32_t i = ind__body_scan(b); i < n; i++) {
        if (b->inst[i].op != IND_LOOP_SCAN) continue;
        if (++scans > IND__MAX_SCANS) return false;
        if (b->inst[i].reduction == IND_SCAN_COMBINE || b->inst[n].reduction == IND_SCAN_COMBINE) return false;
        if (sorts && ind__scan_sorts((ind_scan)b->inst[i].reduction)) return false;
    }
    return true;
}

static ind_status ir__verify_types(const ind_body *b, uint32_t n) {
    const ind__inst *i = &b->inst[n];
    const ind__inst *x = &b->inst[i->arg[0]], *y = &b->inst[i->arg[1]];
    char cls = ind__loop_op_class((ind_loop_op)i->op);
    if (!ir__is_compute_dtype((ind_dtype)i->dtype)) return ir__body_broken(b, n, "its type is no compute type");
    if (i->op == IND_LOOP_STORE && !ind__can_scatter((ind_reduction)i->reduction))
        return ir__body_broken(b, n, "the reduction with the old value is unknown");
    bool masked = i->op == IND_LOOP_LOAD || i->op == IND_LOOP_STORE;
    uint32_t mask = i->arg[i->op == IND_LOOP_STORE];
    if (masked && mask && b->inst[mask].dtype != IND_BOOL) return ir__body_broken(b, n, "its mask is not bool");
    if (i->op == IND_LOOP_PAIR && (x->dtype != i->dtype || y->dtype != i->dtype))
        return ir__body_broken(b, n, "an element and the combined value differ in type");
    uint32_t pair = i->op == IND_LOOP_PAIR                                       ? i->arg[2]
                    : i->op == IND_LOOP_SCAN && i->reduction == IND_SCAN_COMBINE ? i->arg[0]
                                                                                 : 0;
    if (pair && b->inst[pair].op != IND_LOOP_PAIR) return ir__body_broken(b, n, "its operand is no pair");
    if (i->op == IND_LOOP_SCAN && b->rrank != 1) return ir__body_broken(b, n, "a scan runs over one range");
    if (i->op == IND_LOOP_SCAN && !ir__may_scan(b, n))
        return ir__body_broken(b, n,
                               "a scan with a combine function is alone, and a body has one sort and 16 scans at most");
    if (i->op == IND_LOOP_PACKED && (x->dtype != IND_F32 || i->dtype != IND_F32))
        return ir__body_broken(b, n, "an element of a packed tensor is f32");
    if (cls == 's') return IND_OK;
    if (cls == 'u') return ir__verify_call(b, n);
    if (cls == 'w')
        return x->dtype == IND_BOOL && y->dtype == i->dtype
                   ? IND_OK
                   : ir__body_broken(b, n, "where wants a bool and two of its own type");
    if (cls == 'r' && b->inst[i->arg[2]].dtype != IND_I64) return ir__body_broken(b, n, "its operands are i64");
    if (cls == 'c' && i->dtype != IND_BOOL) return ir__body_broken(b, n, "a comparison is bool");
    if (cls != 'c' && x->dtype != i->dtype) return ir__body_broken(b, n, "its type is not that of its operand");
    if (i->arg[1] && x->dtype != y->dtype) return ir__body_broken(b, n, "its operands differ in type");
    return IND_OK;
}

/* Invariants of a body: operands exist and come first, arity and types match, index symbols are the body's own. */
ind_status ind__body_verify(const ind_body *b) {
    if (b->result >= b->num_inst) return ir__body_broken(b, b->result, "the result does not exist");
    for (uint32_t n = 1; n < b->num_inst; n++) {
        const ind__inst *i = &b->inst[n];
        if (i->op <= IND_LOOP_NONE || i->op >= IND_NUM_LOOP_OPS) return ir__body_broken(b, n, "no such op");
        int arity = i->op == IND_LOOP_CALL ? ir__call_arity(i) : ir__loop_op_table[i->op].arity;
        for (int k = 0; k < IND__MAX_ARGS; k++) {
            bool optional = i->op == IND_LOOP_LOAD || (i->op == IND_LOOP_PACKED && k >= 2) ||
                            ((i->op == IND_LOOP_REDUCE || i->op == IND_LOOP_STORE) && k == 1) ||
                            (i->op == IND_LOOP_PAIR && k == 2);
            if (i->arg[k] >= n) return ir__body_broken(b, n, "an operand comes later");
            if (k < arity ? !i->arg[k] && !optional : i->arg[k] != 0)
                return ir__body_broken(b, n, "wrong number of operands");
            if (b->inst[i->arg[k]].op == IND_LOOP_STORE) return ir__body_broken(b, n, "reads a store");
        }
        if ((uint64_t)i->index + i->num_index > b->num_index)
            return ir__body_broken(b, n, "its index is not in the table");
        for (uint32_t k = 0; k < i->num_index; k++) {
            ind_expr s[32];
            int num = ind__expr_symbols(b->index[i->index + k], s, 32);
            for (int j = 0; j < num && j < 32; j++) {
                const ind_symbol *symbol = ind_expr_symbol(s[j]);
                bool own = symbol->kind == IND_SYMBOL_SIZE || symbol->kind == IND_SYMBOL_UNBACKED;
                for (int v = 0; v < b->rank + b->rrank; v++) own = own || s[j].id == b->var[v].id;
                if (symbol->kind == IND_SYMBOL_INDIRECT)
                    own = (uint32_t)symbol->slot <= n && b->inst[symbol->slot].op == IND_LOOP_INDIRECT;
                if (!own) return ir__body_broken(b, n, "its index has a symbol from elsewhere");
            }
        }
        ind_status status = ir__verify_types(b, n);
        if (status) return status;
    }
    return IND_OK;
}

/* A buffer is read before it is mutated; the mutating loop itself may read only the element that the same point
   stores. */
static ind_status ir__verify_old_version(const ind__lowered *p, uint32_t loop, uint32_t load) {
    const ind_body *body = p->loop[loop].body;
    uint32_t version = p->buffer[body->inst[load].source].mutated_by;
    if (!version || p->buffer[version].loop > loop) return IND_OK;
    if (p->buffer[version].loop < loop) return ir__body_broken(body, load, "reads a buffer that was changed before");
    return ir__loads_own_element(body, &body->inst[load], version)
               ? IND_OK
               : ir__body_broken(body, load, "reads elements that other points of the loop change");
}

/* Only a new version of a buffer is partially stored, and it has the layout of the old one. */
static ind_status ir__verify_store(const ind__lowered *p, uint32_t loop, uint32_t store) {
    const ind_body *body = p->loop[loop].body;
    const ind__inst *i = &body->inst[store];
    const ind__buffer *b = &p->buffer[i->source], *old = &p->buffer[b->mutates];
    if (i->flags & IND__INST_RUN) {
        ind_expr size[2 * IND_MAX_RANK];
        ir__extents(body, 0, body->rank + body->rrank, size);
        bool plain = b->partial && b->run > 1 && i->reduction && i->flags == IND__INST_RUN && !i->arg[1];
        return plain && ind_expr_same(ir__run_index(body, size, b->run), body->index[i->index])
                   ? IND_OK
                   : ir__body_broken(body, store, "combines other values than those of a block of rows");
    }
    if (!b->mutates)
        return i->arg[1] || i->reduction || i->flags || b->run
                   ? ir__body_broken(body, store, "changes a buffer that has no contents")
                   : IND_OK;
    bool same = b->dtype == old->dtype && b->layout.rank == old->layout.rank && old->mutated_by == i->source;
    for (int d = 0; same && d < b->layout.rank; d++)
        same = b->layout.order[d] == old->layout.order[d] && b->layout.size[d].id == old->layout.size[d].id;
    return same ? IND_OK : ir__body_broken(body, store, "the versions of a buffer differ in layout");
}

/* The data-dependent sizes that a loop uses are written before it. */
static ind_status ir__verify_unbacked(const ind__lowered *p, uint32_t loop) {
    uint64_t sizes = ind__body_unbacked(p, p->loop[loop].body);
    for (uint32_t u = 0; u < p->num_unbacked; u++) {
        if ((sizes >> u & 1) && p->buffer[p->unbacked[u].buffer].loop >= loop)
            return ir__body_broken(p->loop[loop].body, 0, "uses a size that is counted later");
    }
    return IND_OK;
}

/* True if a second stage combines all that the first stored, in the same way; the sums of WELFORD are added up. */
static bool ir__combines_partials(const ind__lowered *p, const ind__loop *second, const ind__buffer *partial) {
    ind_expr size[2 * IND_MAX_RANK];
    int n = second->body->rank + second->body->rrank;
    ir__extents(second->body, 0, n, size);
    const ind_reduction first = p->loop[partial->loop].reduction;
    const bool sums = first == IND_REDUCE_WELFORD && second->reduction == IND_REDUCE_SUM;
    return (first == second->reduction || sums) && ind__body_splits(second->body) &&
           ind_known_eq(ind_expr_product(p->context, size, n), ind__buffer_numel(partial));
}

ind_status ind__lowered_verify(const ind__lowered *p) {
    for (uint32_t l = 0; l < p->num_loops; l++) {
        const ind__loop *loop = &p->loop[l];
        ind_status status = ind__body_verify(loop->body);
        if (!status) status = ir__verify_unbacked(p, l);
        if (status) return status;
        for (uint32_t i = 1; i < loop->body->num_inst; i++) {
            const ind__inst *x = &loop->body->inst[i];
            if (x->op != IND_LOOP_LOAD && x->op != IND_LOOP_STORE) continue;
            if (!x->source || x->source >= p->num_buffers) return ir__body_broken(loop->body, i, "no such buffer");
            const ind__buffer *b = &p->buffer[x->source];
            if (p->layouts_fixed ? x->num_index != 1 : x->num_index != (uint32_t)b->layout.rank)
                return ir__body_broken(loop->body, i, "wrong number of indices");
            if (x->op == IND_LOOP_LOAD && b->kind == IND__BUFFER_COMPUTED && b->loop >= l)
                return ir__body_broken(loop->body, i, "reads a buffer that is written later");
            if (x->op == IND_LOOP_LOAD && b->partial && !ir__combines_partials(p, loop, b))
                return ir__body_broken(loop->body, i, "does not combine all that the first stage stored");
            if (ind_dtype_compute(b->dtype) != (ind_dtype)x->dtype)
                return ir__body_broken(loop->body, i, "its type is not the buffer's");
            status = x->op == IND_LOOP_LOAD ? ir__verify_old_version(p, l, i) : ir__verify_store(p, l, i);
            if (status) return status;
        }
    }
    return IND_OK;
}

/* ============================================================================================= src/ir/loops/print.c */
/* ------------------------------------------------------------------------------------------------- >>print */

static void ir__print_index(ind__text *t, const ind_body *b, const ind__inst *i) {
    ind__textf(t, "[");
    for (uint32_t k = 0; k < i->num_index; k++) {
        if (k) ind__textf(t, ", ");
        ind__text_expr(t, b->index[i->index + k]);
    }
    ind__textf(t, "]");
}

static void ir__print_source(ind__text *t, uint32_t source, const char *(*name)(uint32_t, void *), void *user) {
    if (name)
        ind__textf(t, "%s", name(source, user));
    else
        ind__textf(t, "#%u", source);
}

static void ir__print_constant(ind__text *t, const ind__inst *i) {
    if (ind_dtype_is_float((ind_dtype)i->dtype))
        ind__text_double(t, i->imm.f);
    else if (i->dtype == IND_BOOL)
        ind__textf(t, i->imm.i ? "true" : "false");
    else
        ind__textf(t, "%lld", (long long)i->imm.i);
}

static void ir__print_inst(ind__text *t, const ind_body *b, uint32_t n, const char *(*name)(uint32_t, void *),
                           void *user) {
    const ind__inst *i = &b->inst[n];
    if (i->op == IND_LOOP_STORE) {
        ind__textf(t, "store ");
        ir__print_source(t, i->source, name, user);
        ir__print_index(t, b, i);
        ind__textf(t, " %s= %%%u", i->reduction ? ind__reduction_name((ind_reduction)i->reduction) : "", i->arg[0]);
        if (i->arg[1]) ind__textf(t, i->flags & IND__INST_SELDOM ? " if seldom %%%u" : " if %%%u", i->arg[1]);
        ind__textf(t, "\n");
        return;
    }
    ind__textf(t, "%%%u : %s = %s", n, ind_dtype_name((ind_dtype)i->dtype), ind__loop_op_name((ind_loop_op)i->op));
    switch (i->op) {
    case IND_LOOP_CONSTANT:
        ind__textf(t, " ");
        ir__print_constant(t, i);
        break;
    case IND_LOOP_LOAD:
        ind__textf(t, " ");
        ir__print_source(t, i->source, name, user);
        ir__print_index(t, b, i);
        if (i->arg[0]) ind__textf(t, " if %%%u", i->arg[0]);
        break;
    case IND_LOOP_INDEX:
        ind__textf(t, " ");
        ind__text_expr(t, b->index[i->index]);
        break;
    case IND_LOOP_INDIRECT:
        ind__textf(t, " %%%u in [0, ", i->arg[0]);
        ind__text_expr(t, b->index[i->index]);
        ind__textf(t, ")%s%s", i->flags & IND__INST_WRAP ? " wrap" : "",
                   i->flags & IND__INST_CHECKED ? " checked" : "");
        if (!i->source) break;
        ind__textf(t, " group by ");
        ir__print_source(t, i->source, name, user);
        break;
    default:
        if (i->op == IND_LOOP_REDUCE) ind__textf(t, " %s", ind__reduction_name((ind_reduction)i->reduction));
        if (i->op == IND_LOOP_SCAN) ind__textf(t, " %s", ind__scan_name((ind_scan)i->reduction));
        if (i->op == IND_LOOP_CALL) ind__textf(t, i->arg[0] ? " %s," : " %s", i->imm.function->name);
        for (int k = 0; k < IND__MAX_ARGS && i->arg[k]; k++) ind__textf(t, "%s %%%u", k ? "," : "", i->arg[k]);
        if (i->op == IND_LOOP_PART || i->op == IND_LOOP_STATE) ind__textf(t, " #%lld", (long long)i->imm.i);
        if (i->op == IND_LOOP_SCAN && (i->flags & IND__INST_EXCLUSIVE)) ind__textf(t, " exclusive");
        if (i->op == IND_LOOP_REDUCE && i->flags)
            ind__textf(t, i->flags & IND__INST_FAST_SUMS ? " in fast sums" : " in sums of 128");
        if (i->op == IND_LOOP_PHILOX)
            ind__textf(t, " bits [%d, %d)", (int)(i->imm.i & 255), (int)((i->imm.i & 255) + (i->imm.i >> 8)));
    }
    ind__textf(t, "\n");
}

/* call topk(x, buf3) -> buf4, buf5 workspace buf6 */
static void ir__print_call(ind__text *t, const ind__extern_call *call, const char *(*name)(uint32_t, void *),
                           void *user) {
    ind__textf(t, "call %s(", call->name);
    for (uint32_t k = 0; k < call->num_inputs + call->num_outputs; k++) {
        ind__textf(t, k == call->num_inputs ? ") -> " : k ? ", " : "");
        ir__print_source(t, call->arg[k].buffer, name, user);
    }
    if (call->workspace) {
        ind__textf(t, " workspace ");
        ir__print_source(t, call->workspace, name, user);
    }
    ind__textf(t, "\n");
}

void ind__body_print(ind__text *t, const ind_body *b, const char *(*name)(uint32_t, void *), void *user) {
    if (b->call) {
        ir__print_call(t, b->call, name, user);
        return;
    }
    for (int v = 0; v < b->rank + b->rrank; v++) {
        ind__textf(t, v == b->rank ? "reduce " : v ? "" : "for ");
        ind__text_expr(t, b->var[v]);
        ind__textf(t, " in ");
        ind__text_expr(t, ind_expr_symbol(b->var[v])->extent);
        ind__textf(t, v + 1 == b->rank || v + 1 == b->rank + b->rrank ? "\n" : ", ");
    }
    for (uint32_t n = 1; n < b->num_inst; n++) ir__print_inst(t, b, n, name, user);
    if (b->result) ind__textf(t, "return %%%u\n", b->result);
}

static const char *ir__lowered_buffer_name(uint32_t buffer, void *user) {
    const ind__lowered *p = (const ind__lowered *)user;
    return buffer < p->num_buffers ? p->buffer[buffer].name : "?";
}

static void ir__print_buffer(ind__text *t, const ind__lowered *p, const ind__buffer *b) {
    static const char *const kind[] = {"input", "const", "buffer"};
    ind__textf(t, "%s %s : %s[", b->output ? "output" : kind[b->kind], b->name, ind_dtype_name(b->dtype));
    for (int i = 0; i < b->layout.rank; i++) {
        if (i) ind__textf(t, ", ");
        ind__text_expr(t, b->layout.size[i]);
    }
    ind__textf(t, "]");
    for (int i = 0; b->layout.fixed && i < b->layout.rank; i++) {
        ind__textf(t, i ? ", " : " strides [");
        ind__text_expr(t, b->layout.stride[i]);
    }
    ind__textf(t, b->layout.fixed && b->layout.rank ? "]" : "");
    if (b->mutates) ind__textf(t, " mutates %s", p->buffer[b->mutates].name);
    if (b->donated) ind__textf(t, " donated");
    ind__textf(t, "\n");
}

void ind__print_made(ind__text *t, const uint32_t *node, uint32_t num, ind__node_name_fn origin_name,
                     ind__node_name_fn result_name, void *user) {
    for (uint32_t i = 0; i < num; i++) {
        const char *op = origin_name ? origin_name(node[i], user) : NULL;
        const char *result = result_name ? result_name(node[i], user) : NULL;
        ind__textf(t, i ? ", " : "");
        ind__textf(t, result ? "%s (%s)" : "%s%s", result ? result : "", op ? op : "?");
    }
}

static void ir__print_heading(ind__text *t, const ind__lowered *p, uint32_t l, ind__node_name_fn origin_name,
                              ind__node_name_fn result_name, void *user) {
    const ind__loop *loop = &p->loop[l];
    const bool made = origin_name && loop->num_origins;
    ind__textf(t, "\nloop %u {%s", l, made || loop->note ? "   # " : "");
    if (made && loop->purpose) ind__textf(t, "%s ", loop->purpose);
    if (made) ind__print_made(t, loop->origin, loop->num_origins, origin_name, result_name, user);
    ind__textf(t, "%s%s\n", made && loop->note ? "; " : "", loop->note ? loop->note : "");
}

void ind__lowered_print(ind__text *t, const ind__lowered *p, ind__node_name_fn origin_name,
                        ind__node_name_fn result_name, void *user) {
    uint8_t *live = (uint8_t *)ind__alloc(p->context, p->num_buffers + 1);
    if (!live) {
        t->failed = true;
        return;
    }
    for (uint32_t l = 0; l < p->num_loops; l++)
        for (uint32_t k = 0; k < p->loop[l].num_outputs; k++) live[p->loop[l].output[k]] = 1;
    for (uint32_t b = 1; b < p->num_buffers; b++)
        if (live[b] || p->buffer[b].kind != IND__BUFFER_COMPUTED) ir__print_buffer(t, p, &p->buffer[b]);
    ind__free(p->context, live);
    for (uint32_t l = 0; l < p->num_loops; l++) {
        ir__print_heading(t, p, l, origin_name, result_name, user);
        t->indent++;
        ind__body_print(t, p->loop[l].body, ir__lowered_buffer_name, (void *)(uintptr_t)p);
        t->indent--;
        ind__textf(t, "}\n");
    }
}

/* ========================================================================================== src/ir/loops/evaluate.c */
/* ---------------------------------------------------------------------------------------------- >>evaluate */

/* Converts a small float with `digits` mantissa bits and this bias. */
static float ir__small_to_f32(uint8_t x, int digits, int bias) {
    int exponent = (x & 127) >> digits, mantissa = x & ((1 << digits) - 1);
    float v = ldexpf((float)(mantissa + (exponent ? 1 << digits : 0)), (exponent ? exponent : 1) - bias - digits);
    return x & 128 ? -v : v;
}

/* Rounds |f|, below 2^16, to nearest even; an overflowing mantissa carries into the exponent. */
static uint32_t ir__small_from_f32(float f, int digits, int bias) {
    uint32_t u;
    memcpy(&u, &f, 4);
    u &= 0x7fffffff;
    if (u < (uint32_t)(128 - bias) << 23) { /* subnormal: a multiple of the smallest number */
        float steps = ldexpf(fabsf(f), bias - 1 + digits);
        return (uint32_t)nearbyintf(steps);
    }
    uint32_t drop = 23 - (uint32_t)digits;
    return (u - ((uint32_t)(127 - bias) << 23) + (1u << (drop - 1)) - 1 + (u >> drop & 1)) >> drop;
}

float ind__f8e4m3fn_to_f32(uint8_t x) {
    return (x & 127) == 127 ? NAN : ir__small_to_f32(x, 3, 7);
}

float ind__f8e5m2_to_f32(uint8_t x) {
    if ((x & 127) < 124) return ir__small_to_f32(x, 2, 15);
    return x & 3 ? NAN : x & 128 ? -INFINITY : INFINITY;
}

uint8_t ind__f32_to_f8e4m3fn(float f) {
    uint32_t sign = signbit(f) ? 128 : 0;
    return (uint8_t)(sign | (fabsf(f) <= 464 ? ir__small_from_f32(f, 3, 7) : 127));
}

uint8_t ind__f32_to_f8e5m2(float f) {
    uint32_t sign = signbit(f) ? 128 : 0;
    return (uint8_t)(sign | (f != f ? 127 : fabsf(f) < 61440 ? ir__small_from_f32(f, 2, 15) : 124));
}

float ind__bf16_to_f32(uint16_t h) {
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

uint16_t ind__f32_to_bf16(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    if (f != f) return 0x7fff; /* as cvt.rn.bf16.f32 */
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

float ind__f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 1023, u;
    if (exponent == 31)
        u = sign | 0x7f800000 | mantissa << 13;
    else if (exponent)
        u = sign | (exponent + 112) << 23 | mantissa << 13;
    else {
        float subnormal = (float)mantissa * 5.9604644775390625e-8f; /* 2^-24 */
        memcpy(&u, &subnormal, 4);
        u |= sign;
    }
    float f;
    memcpy(&f, &u, 4);
    return f;
}

uint16_t ind__f32_to_f16(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    u &= 0x7fffffff;
    if (u > 0x7f800000) return 0x7fff;         /* as cvt.rn.f16.f32 */
    if (u >= 0x477ff000) return sign | 0x7c00; /* 65520 and more rounds to infinity */
    if (u < 0x38800000) {                      /* below 2^-14: subnormal, in units of 2^-24 */
        float magnitude;
        memcpy(&magnitude, &u, 4);
        return sign | (uint16_t)lrintf(magnitude * 16777216.0f);
    }
    u += 0xfff + (u >> 13 & 1);
    return sign | (uint16_t)((u - 0x38000000) >> 13);
}

static ind_status ir__eval_alloc(ind__eval *e) {
    const ind_body *b = e->body;
    ind_context *c = b->context;
    uint32_t slots = e->program.num_inputs + e->program.num_ops;
    e->slots = (int64_t(*)[IND__LANES])ind__alloc(c, slots * sizeof *e->slots);
    e->varying = (uint8_t *)ind__alloc(c, slots);
    e->stamp = (uint32_t *)ind__alloc(c, (e->program.num_ops + 1) * sizeof *e->stamp);
    e->value = (ind__lanes *)ind__alloc(c, b->num_inst * sizeof *e->value);
    return e->slots && e->varying && e->stamp && e->value ? IND_OK : ind__failed(c);
}

/* The inputs of the index program: sizes, loop variables, then one per INDIRECT. */
static ind_status ir__eval_inputs(ind__eval *e, ind_context *c, const ind_expr *size_symbols, uint32_t num_sizes) {
    const ind_body *b = e->body;
    uint32_t vars = (uint32_t)(b->rank + b->rrank), n = num_sizes + vars, indirect = 0;
    for (uint32_t i = 1; i < b->num_inst; i++) indirect += b->inst[i].op == IND_LOOP_INDIRECT;
    ind_expr *input = (ind_expr *)ind__alloc(c, (n + indirect + 1) * sizeof *input);
    e->indirect_input = (uint32_t *)ind__alloc(c, b->num_inst * sizeof *e->indirect_input);
    ind_status status = input && e->indirect_input ? IND_OK : ind__failed(c);
    if (!status) {
        for (uint32_t i = 0; i < num_sizes; i++) input[i] = size_symbols[i];
        for (uint32_t i = 0; i < vars; i++) input[num_sizes + i] = b->var[i];
        for (uint32_t i = 1; i < b->num_inst; i++) {
            if (b->inst[i].op != IND_LOOP_INDIRECT) continue;
            e->indirect_input[i] = n;
            input[n++] = b->index[b->inst[i].index + 1];
        }
        status = ind__program_init(&e->program, c, input, n);
    }
    ind__free(c, input);
    return status;
}

/* Marks the program ops that slot depends on. */
static void ir__mark_cone(const ind__program *p, uint32_t slot, uint8_t *needed) {
    if (slot < p->num_inputs) return;
    needed[slot - p->num_inputs] = 1;
    for (uint32_t i = slot - p->num_inputs + 1; i-- > 0;) {
        const ind__program_op *op = &p->op[i];
        if (!needed[i] || op->kind == IND_EXPR_INT) continue;
        uint32_t arg[3] = {op->a, op->b, op->c};
        int n = op->kind == IND_EXPR_NOT ? 1 : op->kind == IND_EXPR_WHERE ? 3 : 2;
        for (int k = 0; k < n; k++)
            if (arg[k] >= p->num_inputs) needed[arg[k] - p->num_inputs] = 1;
    }
}

/* Compiles every index expression and lists the ops that each depends on. */
static ind_status ir__eval_compile(ind__eval *e) {
    const ind_body *b = e->body;
    ind_context *c = b->context;
    e->index_slot = (uint32_t *)ind__alloc(c, (b->num_index + 1) * sizeof *e->index_slot);
    e->cone_begin = (uint32_t *)ind__alloc(c, (b->num_index + 1) * sizeof *e->cone_begin);
    if (!e->index_slot || !e->cone_begin) return ind__failed(c);
    for (uint32_t k = 0; k < b->num_index; k++) {
        e->index_slot[k] = ind__program_add(&e->program, b->index[k]);
        if (e->index_slot[k] == UINT32_MAX) return ind__failed(c);
    }
    uint8_t *needed = (uint8_t *)ind__alloc(c, e->program.num_ops + 1);
    uint32_t num = 0, cap = 0;
    bool ok = needed != NULL;
    for (uint32_t k = 0; ok && k < b->num_index; k++) {
        e->cone_begin[k] = num;
        memset(needed, 0, e->program.num_ops + 1);
        ir__mark_cone(&e->program, e->index_slot[k], needed);
        for (uint32_t i = 0; ok && i < e->program.num_ops; i++) {
            if (!needed[i]) continue;
            uint32_t *at = IND__PUSH(c, uint32_t, e->cone, num, cap);
            if (at) *at = i;
            ok = at != NULL;
        }
    }
    if (ok) e->cone_begin[b->num_index] = num;
    ind__free(c, needed);
    return ok ? IND_OK : ind__failed(c);
}

ind_status ind__eval_compile(ind__eval *e, ind_context *c, const ind_body *body, const ind_expr *size_symbols,
                             uint32_t num_sizes, uint32_t num_buffers) {
    memset(e, 0, sizeof *e);
    e->body = body;
    e->num_buffers = num_buffers;
    e->num_sizes = num_sizes;
    ind_status status = ir__eval_inputs(e, c, size_symbols, num_sizes);
    if (!status) status = ir__eval_compile(e);
    ind__program_close(&e->program);
    e->epoch = 1;
    if (status) ind__eval_free(e);
    return status;
}

ind_status ind__eval_init(ind__eval *e, ind_context *c, const ind_body *body, const ind_expr *size_symbols,
                          const int64_t *size_values, uint32_t num_sizes, const ind__eval_buffer *buffers,
                          uint32_t num_buffers) {
    ind_status status = ind__eval_compile(e, c, body, size_symbols, num_sizes, num_buffers);
    if (!status && (status = ir__eval_alloc(e))) ind__eval_free(e);
    e->buffer = buffers;
    for (uint32_t i = 0; i < num_sizes && !status; i++)
        for (int l = 0; l < IND__LANES; l++) e->slots[i][l] = size_values[i];
    return status;
}

void ind__eval_free(ind__eval *e) {
    if (!e->body) return;
    ind_context *c = e->body->context;
    ind__program_free(&e->program);
    ind__free(c, e->index_slot);
    ind__free(c, e->cone);
    ind__free(c, e->cone_begin);
    ind__free(c, e->stamp);
    ind__free(c, e->indirect_input);
    ind__free(c, e->slots);
    ind__free(c, e->varying);
    ind__free(c, e->value);
    memset(e, 0, sizeof *e);
}

IND__VECTORS_BEGIN
void ind__eval_set_var(ind__eval *e, int var, int64_t value, int64_t step) {
    uint32_t slot = e->num_sizes + (uint32_t)var;
    e->varying[slot] = step != 0;
    int lanes = step ? IND__LANES : 1;
    for (int l = 0; l < lanes; l++) e->slots[slot][l] = value + step * l;
    e->epoch++;
}

void ind__eval_set_var_lanes(ind__eval *e, int var, const int64_t *values, int lanes) {
    uint32_t slot = e->num_sizes + (uint32_t)var;
    e->varying[slot] = 1;
    memcpy(e->slots[slot], values, (size_t)lanes * sizeof *values);
    e->epoch++;
}

/* Wraps around instead of failing: the launch has checked the sizes, and every access is checked afterwards. */
IND__ALWAYS_INLINE int64_t ir__index_op(uint8_t kind, int64_t a, int64_t b, int64_t c) {
    switch (kind) {
    case IND_EXPR_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case IND_EXPR_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case IND_EXPR_FLOORDIV: return b && !(b == -1 && a == INT64_MIN) ? ir__floor_div(a, b) : 0;
    case IND_EXPR_MOD: return b ? ir__floor_mod(a, b) : 0;
    case IND_EXPR_MIN: return a < b ? a : b;
    case IND_EXPR_MAX: return a > b ? a : b;
    case IND_EXPR_EQ: return a == b;
    case IND_EXPR_NE: return a != b;
    case IND_EXPR_LT: return a < b;
    case IND_EXPR_LE: return a <= b;
    case IND_EXPR_AND: return a && b;
    case IND_EXPR_OR: return a || b;
    case IND_EXPR_NOT: return !a;
    default: return a ? b : c;
    }
}

/* Operations that have a loop over the lanes each. */
#define IND__INDEX_LANE_OPS(X)                                                                                         \
    X(IND_EXPR_ADD)                                                                                                    \
    X(IND_EXPR_MUL)                                                                                                    \
    X(IND_EXPR_MIN)                                                                                                    \
    X(IND_EXPR_MAX)                                                                                                    \
    X(IND_EXPR_EQ)                                                                                                     \
    X(IND_EXPR_NE)                                                                                                     \
    X(IND_EXPR_LT)                                                                                                     \
    X(IND_EXPR_LE)                                                                                                     \
    X(IND_EXPR_AND)                                                                                                    \
    X(IND_EXPR_OR)

/* Quotients or remainders of a divisor that all lanes share. */
static void ir__divide_lanes(bool remainder, int64_t *out, const int64_t *a, int64_t by, int lanes) {
    const bool power = by > 0 && !(by & (by - 1)), narrow = by > 0 && by <= UINT32_MAX;
    int shift = 0;
    while (power && by >> shift > 1) shift++;
    for (int l = 0; l < lanes && power; l++)
        out[l] = remainder ? a[l] & (by - 1) : a[l] < 0 ? ~(~a[l] >> shift) : a[l] >> shift;
    for (int l = 0; l < lanes && !power; l++) {
        if (narrow && (uint64_t)a[l] <= UINT32_MAX) /* CPUs divide 32 bits in less time */
            out[l] = remainder ? (uint32_t)a[l] % (uint32_t)by : (uint32_t)a[l] / (uint32_t)by;
        else
            out[l] = ir__index_op(remainder ? IND_EXPR_MOD : IND_EXPR_FLOORDIV, a[l], by, 0);
    }
}

/* The argument in all lanes: its slot, or `copy` filled with its single value. */
static const int64_t *ir__index_lanes(const ind__eval *e, uint32_t slot, int64_t *copy, int lanes) {
    const int64_t value = e->slots[slot][0];
    if (e->varying[slot]) return e->slots[slot];
    for (int l = 0; l < lanes; l++) copy[l] = value;
    return copy;
}

static void ir__eval_program_op(ind__eval *e, uint32_t i, int lanes) {
    const ind__program *p = &e->program;
    const ind__program_op *op = &p->op[i];
    uint32_t slot = p->num_inputs + i;
    int64_t *out = e->slots[slot];
    if (op->kind == IND_EXPR_INT) {
        out[0] = op->imm;
        e->varying[slot] = 0;
        return;
    }
    int args = op->kind == IND_EXPR_NOT ? 1 : op->kind == IND_EXPR_WHERE ? 3 : 2;
    uint32_t arg[3] = {op->a, args > 1 ? op->b : op->a, args > 2 ? op->c : op->a};
    const bool varies = e->varying[arg[0]] || e->varying[arg[1]] || e->varying[arg[2]];
    const int64_t *x = e->slots[arg[0]], *y = e->slots[arg[1]], *z = e->slots[arg[2]];
    const bool divides = op->kind == IND_EXPR_FLOORDIV || op->kind == IND_EXPR_MOD;
    int64_t copy[3][IND__LANES];
    e->varying[slot] = varies;
    if (!varies) {
        out[0] = ir__index_op(op->kind, x[0], y[0], z[0]);
        return;
    }
    if (divides && !e->varying[arg[1]]) {
        ir__divide_lanes(op->kind == IND_EXPR_MOD, out, x, y[0], lanes);
        return;
    }
    x = ir__index_lanes(e, arg[0], copy[0], lanes), y = ir__index_lanes(e, arg[1], copy[1], lanes);
    if (args > 2) z = ir__index_lanes(e, arg[2], copy[2], lanes);
    switch (op->kind) {
#define X(kind)                                                                                                        \
    case kind:                                                                                                         \
        for (int l = 0; l < lanes; l++) out[l] = ir__index_op(kind, x[l], y[l], 0);                                    \
        return;
        IND__INDEX_LANE_OPS(X)
    default:
        for (int l = 0; l < lanes; l++) out[l] = ir__index_op(op->kind, x[l], y[l], args > 2 ? z[l] : 0);
#undef X
    }
}

/* Values of body->index[k]; *varying: one value per lane, else only the first is valid. */
static const int64_t *ir__eval_index(ind__eval *e, uint32_t k, int lanes, bool *varying) {
    for (uint32_t i = e->cone_begin[k]; i < e->cone_begin[k + 1]; i++) {
        uint32_t op = e->cone[i];
        if (e->stamp[op] == e->epoch) continue;
        ir__eval_program_op(e, op, lanes);
        e->stamp[op] = e->epoch;
    }
    *varying = e->varying[e->index_slot[k]];
    return e->slots[e->index_slot[k]];
}

int64_t ind__eval_index(ind__eval *e, uint32_t index) {
    bool varying;
    return ir__eval_index(e, index, 1, &varying)[0];
}

static void ir__load_lane(const ind__eval_buffer *m, int64_t at, ind__lanes *v, int l) {
    switch (m->dtype) {
    case IND_BOOL: v->i[l] = ((const uint8_t *)m->data)[at] != 0; break;
    case IND_U8: v->i[l] = ((const uint8_t *)m->data)[at]; break;
    case IND_I8: v->i[l] = ((const int8_t *)m->data)[at]; break;
    case IND_I16: v->i[l] = ((const int16_t *)m->data)[at]; break;
    case IND_I32: v->i[l] = ((const int32_t *)m->data)[at]; break;
    case IND_I64: v->i[l] = ((const int64_t *)m->data)[at]; break;
    case IND_F16: v->f[l] = ind__f16_to_f32(((const uint16_t *)m->data)[at]); break;
    case IND_BF16: v->f[l] = ind__bf16_to_f32(((const uint16_t *)m->data)[at]); break;
    case IND_F8E4M3FN: v->f[l] = ind__f8e4m3fn_to_f32(((const uint8_t *)m->data)[at]); break;
    case IND_F8E5M2: v->f[l] = ind__f8e5m2_to_f32(((const uint8_t *)m->data)[at]); break;
    case IND_F32: v->f[l] = ((const float *)m->data)[at]; break;
    default: v->d[l] = ((const double *)m->data)[at];
    }
}

static void ir__store_lane(const ind__eval_buffer *m, int64_t at, const ind__lanes *v, int l) {
    switch (m->dtype) {
    case IND_BOOL:
    case IND_U8: ((uint8_t *)m->data)[at] = (uint8_t)v->i[l]; break;
    case IND_I8: ((int8_t *)m->data)[at] = (int8_t)v->i[l]; break;
    case IND_I16: ((int16_t *)m->data)[at] = (int16_t)v->i[l]; break;
    case IND_I32: ((int32_t *)m->data)[at] = (int32_t)v->i[l]; break;
    case IND_I64: ((int64_t *)m->data)[at] = v->i[l]; break;
    case IND_F16: ((uint16_t *)m->data)[at] = ind__f32_to_f16(v->f[l]); break;
    case IND_BF16: ((uint16_t *)m->data)[at] = ind__f32_to_bf16(v->f[l]); break;
    case IND_F8E4M3FN: ((uint8_t *)m->data)[at] = ind__f32_to_f8e4m3fn(v->f[l]); break;
    case IND_F8E5M2: ((uint8_t *)m->data)[at] = ind__f32_to_f8e5m2(v->f[l]); break;
    case IND_F32: ((float *)m->data)[at] = v->f[l]; break;
    default: ((double *)m->data)[at] = v->d[l];
    }
}

int ind__element_order(const ind__eval_buffer *m, int64_t a, int64_t b) {
    ind__lanes v;
    ir__load_lane(m, a, &v, 0);
    ir__load_lane(m, b, &v, 1);
    ind_dtype d = ind_dtype_compute(m->dtype);
    if (!ind_dtype_is_float(d)) return (v.i[0] > v.i[1]) - (v.i[0] < v.i[1]);
    double x = d == IND_F32 ? (double)v.f[0] : v.d[0], y = d == IND_F32 ? (double)v.f[1] : v.d[1];
    return x != x || y != y ? (x != x) - (y != y) : (x > y) - (x < y);
}

static bool ir__indices_inside(const int64_t *at, int n, int64_t numel) {
    int64_t bad = 0;
    for (int l = 0; l < n; l++) bad |= at[l] | (numel - 1 - at[l]);
    return bad >= 0;
}

/* True if the lanes have consecutive elements. */
static bool ir__is_run(const int64_t *at, int n) {
    int64_t other = 0;
    for (int l = 0; l < n; l++) other |= at[l] ^ (at[0] + l);
    return !other;
}

static void ir__zero_lane(ind__lanes *v, ind_dtype d, int l) {
    if (d == IND_F32)
        v->f[l] = 0;
    else
        v->i[l] = 0; /* also the zero of f64 */
}

void ind__eval_spread(ind__lanes *v, ind_dtype d, int lanes) {
    const float f = v->f[0];
    const int64_t i = v->i[0]; /* also the bits of f64 */
    if (d == IND_F32)
        for (int l = 1; l < lanes; l++) v->f[l] = f;
    else
        for (int l = 1; l < lanes; l++) v->i[l] = i;
}

static void ir__eval_load(ind__eval *e, const ind__inst *i, ind__lanes *v, int lanes) {
    const ind__eval_buffer *m = &e->buffer[i->source];
    bool varying;
    const int64_t *at = ir__eval_index(e, i->index, lanes, &varying);
    const int64_t *mask = i->arg[0] ? e->value[i->arg[0]].i : NULL;
    ind_dtype d = (ind_dtype)i->dtype;
    if (mask) {
        for (int l = 0; l < lanes; l++) {
            const int64_t k = at[varying ? l : 0];
            const bool inside = k >= 0 && k < m->numel, use = mask[l] && inside;
            if (mask[l] && !inside) e->bad_access = true;
            if (m->dtype == IND_F32)
                v->f[l] = use ? ((const float *)m->data)[k] : 0;
            else if (use)
                ir__load_lane(m, k, v, l);
            else
                ir__zero_lane(v, d, l);
        }
        return;
    }
    if (!ir__indices_inside(at, varying ? lanes : 1, m->numel)) {
        e->bad_access = true;
        for (int l = 0; l < lanes; l++) ir__zero_lane(v, d, l);
    } else if (!varying) {
        ir__load_lane(m, at[0], v, 0);
        ind__eval_spread(v, d, lanes);
    } else if (m->dtype == IND_F32 && ir__is_run(at, lanes)) {
        memcpy(v->f, (const float *)m->data + at[0], (size_t)lanes * sizeof *v->f);
    } else if (m->dtype == IND_F32) {
        for (int l = 0; l < lanes; l++) v->f[l] = ((const float *)m->data)[at[l]];
    } else {
        for (int l = 0; l < lanes; l++) ir__load_lane(m, at[l], v, l);
    }
}

IND__ALWAYS_INLINE int64_t ir__int_op(uint8_t op, int64_t x, int64_t y);

/* Combines the value of lane l with the stored element; sums of 16-bit floats are computed in f32 and rounded. */
static void ir__combine_lane(const ind__eval_buffer *m, int64_t at, const ind__inst *i, const ind__lanes *v, int l) {
    static const uint8_t op[IND_NUM_REDUCTIONS] = {[IND_REDUCE_SUM] = IND_LOOP_ADD,
                                                   [IND_REDUCE_PROD] = IND_LOOP_MUL,
                                                   [IND_REDUCE_MAX] = IND_LOOP_MAXIMUM,
                                                   [IND_REDUCE_MIN] = IND_LOOP_MINIMUM};
    const uint8_t how = op[i->reduction];
    ind__lanes old;
    ir__load_lane(m, at, &old, 0);
    if (i->dtype == IND_F32) {
        float x = old.f[0], y = v->f[l];
        bool first = x != x || (how == IND_LOOP_MAXIMUM ? x > y : x < y);
        old.f[0] = how == IND_LOOP_ADD ? x + y : how == IND_LOOP_MUL ? x * y : first ? x : y;
    } else if (i->dtype == IND_F64) {
        double x = old.d[0], y = v->d[l];
        bool first = x != x || (how == IND_LOOP_MAXIMUM ? x > y : x < y);
        old.d[0] = how == IND_LOOP_ADD ? x + y : how == IND_LOOP_MUL ? x * y : first ? x : y;
    } else {
        old.i[0] = ind__wrap_int((ind_dtype)i->dtype, ir__int_op(how, old.i[0], v->i[l]));
    }
    ir__store_lane(m, at, &old, 0);
}

/* A store with a mask or one that combines: lane by lane, as several lanes may store the same element. */
static void ir__eval_scatter(ind__eval *e, const ind__inst *i, const int64_t *at, bool varying, int lanes) {
    const ind__eval_buffer *m = &e->buffer[i->source];
    const ind__lanes *v = &e->value[i->arg[0]];
    const int64_t *mask = i->arg[1] ? e->value[i->arg[1]].i : NULL;
    for (int l = 0; l < lanes; l++) {
        int64_t k = at[varying ? l : 0];
        if (mask && !mask[l]) continue;
        if (k < 0 || k >= m->numel)
            e->bad_access = true;
        else if (i->reduction)
            ir__combine_lane(m, k, i, v, l);
        else
            ir__store_lane(m, k, v, l);
    }
}

static void ir__eval_store(ind__eval *e, const ind__inst *i, int lanes) {
    const ind__eval_buffer *m = &e->buffer[i->source];
    const ind__lanes *v = &e->value[i->arg[0]];
    bool varying;
    const int64_t *at = ir__eval_index(e, i->index, lanes, &varying);
    if (i->arg[1] || i->reduction) {
        ir__eval_scatter(e, i, at, varying, lanes);
        return;
    }
    if (!ir__indices_inside(at, varying ? lanes : 1, m->numel)) {
        e->bad_access = true;
        return;
    }
    if (m->dtype == IND_F32 && varying && ir__is_run(at, lanes))
        memcpy((float *)m->data + at[0], v->f, (size_t)lanes * sizeof *v->f);
    else
        for (int l = 0; l < lanes; l++) ir__store_lane(m, at[varying ? l : 0], v, l);
}

static void ir__eval_indirect(ind__eval *e, uint32_t n, const ind__inst *i, int lanes) {
    bool varying;
    const int64_t *extent = ir__eval_index(e, i->index, lanes, &varying), *x = e->value[i->arg[0]].i;
    int64_t *out = e->slots[e->indirect_input[n]];
    e->varying[e->indirect_input[n]] = 1;
    for (int l = 0; l < lanes; l++) {
        int64_t size = extent[varying ? l : 0], v = x[l];
        if ((i->flags & IND__INST_WRAP) && v < 0) v += size;
        if (v < 0 || v >= size) {
            if (!e->bad_index.set) {
                e->bad_index.set = true;
                e->bad_index.inst = n;
                e->bad_index.value = x[l];
                e->bad_index.size = size;
            }
            v = 0;
        }
        out[l] = v;
        e->value[n].i[l] = v;
    }
    e->epoch++; /* recomputes the ops that depend on it */
}

static void ir__eval_index_value(ind__eval *e, const ind__inst *i, ind__lanes *v, int lanes) {
    bool varying;
    const int64_t *at = ir__eval_index(e, i->index, lanes, &varying);
    for (int l = 0; l < lanes; l++) v->i[l] = at[varying ? l : 0];
}

static void ir__eval_constant(const ind__inst *i, ind__lanes *v, int lanes) {
    const double f = i->imm.f;
    const int64_t n = i->imm.i;
    if (i->dtype == IND_F32)
        for (int l = 0; l < lanes; l++) v->f[l] = (float)f;
    else if (i->dtype == IND_F64)
        for (int l = 0; l < lanes; l++) v->d[l] = f;
    else
        for (int l = 0; l < lanes; l++) v->i[l] = n;
}

static void ir__eval_cast(const ind__inst *i, ind_dtype from, const ind__lanes *x, ind__lanes *v, int lanes) {
    ind_dtype to = (ind_dtype)i->dtype;
    for (int l = 0; l < lanes; l++) {
        double f = from == IND_F32 ? x->f[l] : from == IND_F64 ? x->d[l] : 0;
        bool float_from = ind_dtype_is_float(from);
        if (to == IND_F32)
            v->f[l] = float_from ? (float)f : (float)x->i[l];
        else if (to == IND_F64)
            v->d[l] = float_from ? f : (double)x->i[l];
        else if (to == IND_BOOL)
            v->i[l] = float_from ? f != 0 : x->i[l] != 0;
        else
            v->i[l] = ind__wrap_int(to, float_from ? ir__float_to_int(f) : x->i[l]);
    }
}
IND__VECTORS_END

/* ================================================================================= src/ir/loops/special_functions.c */
/* ---- functions that libm lacks, in double for both types ---- */

#define IR__PI 3.14159265358979323846

/* From Winitzki's approximation (2008), accurate to 2e-3, by Halley's method, which triples the digits at each step.
   Far from 0 it uses erfc, which stays accurate there. */
static double ir__erfinv(double x) {
    double p = fabs(x), q = 1 - p, l = log1p(-p * p), t = 2 / (IR__PI * 0.147) + l / 2, s = -l / 0.147;
    if (!(p < 1)) return p == 1 ? copysign(INFINITY, x) : NAN;
    double y = sqrt(s / (sqrt(t * t + s) + t));
    for (int i = 0; i < 3; i++) {
        double error = p < 0.5 ? erf(y) - p : q - erfc(y);
        double step = error / (2 / sqrt(IR__PI) * exp(-y * y));
        y -= step / (1 + y * step);
    }
    return copysign(y, x);
}

/* By recurrence to x >= 10 and the asymptotic series there (Abramowitz and Stegun 6.3.5, 6.3.18); for negative x by
   reflection (6.3.7). */
static double ir__digamma(double x) {
    double sum = 0;
    if (x == 0) return copysign(INFINITY, -x);
    if (x < 0) {
        double fraction = x - rint(x); /* exact, unlike pi x */
        if (fraction == 0) return NAN;
        sum = -IR__PI / tan(IR__PI * fraction);
        x = 1 - x;
    }
    for (; x < 10; x++) sum -= 1 / x;
    double z = 1 / (x * x);
    double series =
        1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12)))));
    return sum + (log(x) - 0.5 / x - z * series);
}

/* exp(-|x|) I_n(x) for n = 0 and 1: the power series (Abramowitz and Stegun 9.6.10), whose terms have one sign; above
   30 the asymptotic series (9.7.1), which is accurate beyond the type there. */
static double ir__bessel_ie(int n, double x) {
    double y = fabs(x), term = n ? y / 2 : 1, sum = term;
    if (y <= 30) {
        for (int k = 1; k < 100 && term > sum * 1e-18; k++) sum += term *= y * y / (4.0 * k * (k + n));
        sum *= exp(-y);
    } else {
        sum = term = 1;
        for (int k = 1; k < 30; k++) sum += term *= ((2.0 * k - 1) * (2 * k - 1) - 4 * n) / (8 * y * k);
        sum /= sqrt(2 * IR__PI * y);
    }
    return n ? copysign(sum, x) : sum;
}

/* J0 J1 Y0 Y1 (kinds 0 to 3) for y >= 25 by Hankel's asymptotic series (Abramowitz and Stegun 9.2.5), which is accurate
   beyond the type there. */
static double ir__bessel_far(int kind, double y) {
    double p = 1, q = 0, term = 1, squares = kind & 1 ? 4 : 0, root = sqrt(1 / (IR__PI * y));
    for (int k = 1; k <= 30; k++) {
        term *= (squares - (2.0 * k - 1) * (2 * k - 1)) / (8 * y * k);
        double *sum = k & 1 ? &q : &p;
        *sum += k & 2 ? -term : term;
    }
    double plus = root * (sin(y) + cos(y)), minus = root * (sin(y) - cos(y)); /* of y - pi / 4 */
    switch (kind) {
    case 0: return p * plus - q * minus;
    case 1: return p * minus + q * plus;
    case 2: return p * minus + q * plus;
    default: return -p * plus + q * minus;
    }
}

/* The same for 0 < y < 25 by Miller's backward recurrence, normalised by J0 + 2 (J2 + J4 + ..) = 1, with Neumann's
   series for Y (Abramowitz and Stegun 9.1.46, 9.1.88, 9.1.89). */
static double ir__bessel_near(int kind, double y) {
    double above = 0, j = 1e-30, total = 0, even = 0, odd = 0, l = log(y / 2) + 0.57721566490153286061;
    if (y < 1e-8) return kind == 0 ? 1 : kind == 1 ? y / 2 : kind == 2 ? 2 / IR__PI * l : -2 / (IR__PI * y);
    for (int n = 40 + 2 * (int)(0.75 * y); n > 0; n--) {
        double k = n / 2, sign = n & 2 ? -1 : 1;
        if (n % 2 == 0) total += 2 * j, even += sign * j / k;
        if (n % 2 == 1 && n > 1) odd += sign * n / (k * (k + 1)) * j;
        double below = 2 * n / y * j - above;
        above = j, j = below;
        if (fabs(j) > 1e100) j *= 1e-100, above *= 1e-100, total *= 1e-100, even *= 1e-100, odd *= 1e-100;
    }
    total += j;
    switch (kind) {
    case 0: return j / total;
    case 1: return above / total;
    case 2: return 2 / IR__PI * (l * j - 2 * even) / total;
    default: return 2 / IR__PI * ((l - 1) * above - j / y - odd) / total;
    }
}

static double ir__bessel(int kind, double x) {
    double y = fabs(x);
    if (kind >= 2 && !(x > 0)) return x == 0 ? -INFINITY : NAN;
    double v = y < 25 ? ir__bessel_near(kind, y) : ir__bessel_far(kind, y);
    return kind == 1 && x < 0 ? -v : v;
}

/* Hurwitz' zeta function for a > 0: ten terms and Euler and Maclaurin's formula for the rest (Abramowitz and Stegun
   23.1.30). */
static double ir__zeta_positive(double x, double a) {
    static const double series[] = {1.0 / 12,
                                    -1.0 / 720,
                                    1.0 / 30240,
                                    -1.0 / 1209600,
                                    1.0 / 47900160,
                                    -691.0 / 1307674368e3,
                                    1.0 / 74724249600,
                                    -3617.0 / 10670622842880e3,
                                    43867.0 / 5109094217170944e3};
    double sum = 0;
    for (int k = 0; k < 10; k++, a++) sum += pow(a, -x);
    double term = pow(a, -x);
    if (term == 0) return sum;
    sum += term * a / (x - 1) + term / 2;
    term *= x / a;
    for (int k = 0; k < 9; k++) {
        sum += series[k] * term;
        term *= (x + 2 * k + 1) * (x + 2 * k + 2) / (a * a);
    }
    return sum;
}

/* For a < 0 only with integer x, as in PyTorch: the terms below 0 are those from f in (0, 1) to -a, with the sign of
   (-1)^x; the others start at 1 - f. */
static double ir__zeta(double x, double a) {
    if (x == 1) return INFINITY;
    if (x < 1) return NAN;
    if (!(a <= 0)) return ir__zeta_positive(x, a);
    if (a == floor(a)) return INFINITY;
    if (x != floor(x)) return NAN;
    double f = -a - floor(-a), below = ir__zeta_positive(x, f) - ir__zeta_positive(x, 1 - a);
    return ir__zeta_positive(x, 1 - f) + (fmod(x, 2) == 1 ? -below : below);
}

/* Temme's uniform expansion (1979; Digital Library of Mathematical Functions 8.12) for large a and x = a (1 + mu) near
   it, where exp(-a eta^2 / 2) becomes small long before eta is large: few of its coefficients matter. */
static double ir__igamma_large(double a, double mu, bool upper) {
    double half_square = 0, power = mu;
    for (int k = 2; k < 14; k++) power *= -mu, half_square -= power / k; /* mu - log(1 + mu) */
    double eta = copysign(sqrt(2 * half_square), mu);
    double c0 = -1.0 / 3 + eta * (1.0 / 12 + eta * (-2.0 / 135 + eta * (1.0 / 864 + eta / 2835)));
    double c1 = -1.0 / 540 - eta / 288;
    double rest = exp(-a * half_square) / sqrt(2 * IR__PI * a) * (c0 + c1 / a);
    return upper ? erfc(eta * sqrt(a / 2)) / 2 + rest : erfc(-eta * sqrt(a / 2)) / 2 - rest;
}

/* The regularised incomplete gamma functions P and Q = 1 - P: for x <= a or x <= 1 the series of P (Abramowitz and
   Stegun 6.5.29), else the continued fraction of Q (6.5.31) by the modified Lentz method. */
static double ir__igamma(double a, double x, bool upper) {
    double sum = 1, term = 1, tiny = 1e-300;
    if (!(a >= 0 && x >= 0) || (isinf(a) && isinf(x)) || (a == 0 && x == 0)) return NAN;
    if (x == 0 || isinf(a)) return upper ? 1 : 0;
    if (isinf(x) || a == 0) return upper ? 0 : 1;
    if (a > 1e5 && fabs(x - a) < 0.03 * a) return ir__igamma_large(a, (x - a) / a, upper);
    double scale = exp(a * log(x) - x - lgamma(a));
    if (x <= 1 || x <= a) {
        for (int k = 1; k < 5000 && term > sum * 1e-17; k++) sum += term *= x / (a + k);
        return upper ? 1 - scale * sum / a : scale * sum / a;
    }
    double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d, change = 0;
    for (int k = 1; k < 5000 && fabs(change - 1) > 1e-16; k++) {
        double factor = k * (a - k);
        b += 2;
        d = factor * d + b, d = 1 / (fabs(d) < tiny ? tiny : d);
        c = b + factor / c, c = fabs(c) < tiny ? tiny : c;
        change = c * d;
        h *= change;
    }
    return upper ? scale * h : 1 - scale * h;
}

IND__VECTORS_BEGIN
/* One macro per number of operands: the types differ only in the loop over the lanes. */
#define IND__LANE_LOOP(field, expression)                                                                              \
    for (int l = 0; l < lanes; l++) v->field[l] = (expression);                                                        \
    return

static void ir__eval_f32(const ind__inst *i, const ind__lanes *a, const ind__lanes *b, ind__lanes *v, int lanes) {
    const float *x = a->f, *y = b->f;
    switch (i->op) {
    case IND_LOOP_NEG: IND__LANE_LOOP(f, -x[l]);
    case IND_LOOP_ABS: IND__LANE_LOOP(f, fabsf(x[l]));
    case IND_LOOP_EXP: IND__LANE_LOOP(f, expf(x[l]));
    case IND_LOOP_LOG: IND__LANE_LOOP(f, logf(x[l]));
    case IND_LOOP_SQRT: IND__LANE_LOOP(f, sqrtf(x[l]));
    case IND_LOOP_RSQRT: IND__LANE_LOOP(f, 1.0f / sqrtf(x[l]));
    case IND_LOOP_RECIPROCAL: IND__LANE_LOOP(f, 1.0f / x[l]);
    case IND_LOOP_TANH: IND__LANE_LOOP(f, tanhf(x[l]));
    case IND_LOOP_ERF: IND__LANE_LOOP(f, erff(x[l]));
    case IND_LOOP_SIGMOID: IND__LANE_LOOP(f, 1.0f / (1.0f + expf(-x[l])));
    case IND_LOOP_SIN: IND__LANE_LOOP(f, sinf(x[l]));
    case IND_LOOP_COS: IND__LANE_LOOP(f, cosf(x[l]));
    case IND_LOOP_TAN: IND__LANE_LOOP(f, tanf(x[l]));
    case IND_LOOP_ASIN: IND__LANE_LOOP(f, asinf(x[l]));
    case IND_LOOP_ACOS: IND__LANE_LOOP(f, acosf(x[l]));
    case IND_LOOP_ATAN: IND__LANE_LOOP(f, atanf(x[l]));
    case IND_LOOP_SINH: IND__LANE_LOOP(f, sinhf(x[l]));
    case IND_LOOP_COSH: IND__LANE_LOOP(f, coshf(x[l]));
    case IND_LOOP_ASINH: IND__LANE_LOOP(f, asinhf(x[l]));
    case IND_LOOP_ACOSH: IND__LANE_LOOP(f, acoshf(x[l]));
    case IND_LOOP_ATANH: IND__LANE_LOOP(f, atanhf(x[l]));
    case IND_LOOP_EXP2: IND__LANE_LOOP(f, exp2f(x[l]));
    case IND_LOOP_EXPM1: IND__LANE_LOOP(f, expm1f(x[l]));
    case IND_LOOP_LOG2: IND__LANE_LOOP(f, log2f(x[l]));
    case IND_LOOP_LOG10: IND__LANE_LOOP(f, log10f(x[l]));
    case IND_LOOP_LOG1P: IND__LANE_LOOP(f, log1pf(x[l]));
    case IND_LOOP_FLOOR: IND__LANE_LOOP(f, floorf(x[l]));
    case IND_LOOP_CEIL: IND__LANE_LOOP(f, ceilf(x[l]));
    case IND_LOOP_TRUNC: IND__LANE_LOOP(f, truncf(x[l]));
    case IND_LOOP_RINT: IND__LANE_LOOP(f, rintf(x[l]));
    case IND_LOOP_ERFC: IND__LANE_LOOP(f, erfcf(x[l]));
    case IND_LOOP_LGAMMA: IND__LANE_LOOP(f, (float)lgamma((double)x[l])); /* mingw's lgammaf is less exact */
    case IND_LOOP_ERFINV: IND__LANE_LOOP(f, (float)ir__erfinv(x[l]));
    case IND_LOOP_DIGAMMA: IND__LANE_LOOP(f, (float)ir__digamma(x[l]));
    case IND_LOOP_I0E: IND__LANE_LOOP(f, (float)ir__bessel_ie(0, x[l]));
    case IND_LOOP_I1E: IND__LANE_LOOP(f, (float)ir__bessel_ie(1, x[l]));
    case IND_LOOP_J0: IND__LANE_LOOP(f, (float)ir__bessel(0, x[l]));
    case IND_LOOP_J1: IND__LANE_LOOP(f, (float)ir__bessel(1, x[l]));
    case IND_LOOP_Y0: IND__LANE_LOOP(f, (float)ir__bessel(2, x[l]));
    case IND_LOOP_Y1: IND__LANE_LOOP(f, (float)ir__bessel(3, x[l]));
    case IND_LOOP_ROUND_F16: IND__LANE_LOOP(f, ind__f16_to_f32(ind__f32_to_f16(x[l])));
    case IND_LOOP_ROUND_BF16: IND__LANE_LOOP(f, ind__bf16_to_f32(ind__f32_to_bf16(x[l])));
    case IND_LOOP_ROUND_F8E4M3FN: IND__LANE_LOOP(f, ind__f8e4m3fn_to_f32(ind__f32_to_f8e4m3fn(x[l])));
    case IND_LOOP_ROUND_F8E5M2: IND__LANE_LOOP(f, ind__f8e5m2_to_f32(ind__f32_to_f8e5m2(x[l])));
    case IND_LOOP_ADD: IND__LANE_LOOP(f, x[l] + y[l]);
    case IND_LOOP_SUB: IND__LANE_LOOP(f, x[l] - y[l]);
    case IND_LOOP_MUL: IND__LANE_LOOP(f, x[l] * y[l]);
    case IND_LOOP_DIV: IND__LANE_LOOP(f, x[l] / y[l]);
    case IND_LOOP_POW: IND__LANE_LOOP(f, powf(x[l], y[l]));
    case IND_LOOP_MAXIMUM: IND__LANE_LOOP(f, x[l] != x[l] || x[l] > y[l] ? x[l] : y[l]);
    case IND_LOOP_MINIMUM: IND__LANE_LOOP(f, x[l] != x[l] || x[l] < y[l] ? x[l] : y[l]);
    case IND_LOOP_FMOD: IND__LANE_LOOP(f, fmodf(x[l], y[l]));
    case IND_LOOP_ATAN2: IND__LANE_LOOP(f, atan2f(x[l], y[l]));
    case IND_LOOP_HYPOT: IND__LANE_LOOP(f, hypotf(x[l], y[l]));
    case IND_LOOP_COPYSIGN: IND__LANE_LOOP(f, copysignf(x[l], y[l]));
    case IND_LOOP_NEXTAFTER: IND__LANE_LOOP(f, nextafterf(x[l], y[l]));
    case IND_LOOP_ZETA: IND__LANE_LOOP(f, (float)ir__zeta(x[l], y[l]));
    case IND_LOOP_IGAMMA: IND__LANE_LOOP(f, (float)ir__igamma(x[l], y[l], false));
    case IND_LOOP_IGAMMAC: IND__LANE_LOOP(f, (float)ir__igamma(x[l], y[l], true));
    case IND_LOOP_EQ: IND__LANE_LOOP(i, x[l] == y[l]);
    case IND_LOOP_NE: IND__LANE_LOOP(i, x[l] != y[l]);
    case IND_LOOP_LT: IND__LANE_LOOP(i, x[l] < y[l]);
    case IND_LOOP_LE: IND__LANE_LOOP(i, x[l] <= y[l]);
    case IND_LOOP_GT: IND__LANE_LOOP(i, x[l] > y[l]);
    case IND_LOOP_GE: IND__LANE_LOOP(i, x[l] >= y[l]);
    default: return;
    }
}

static void ir__eval_f64(const ind__inst *i, const ind__lanes *a, const ind__lanes *b, ind__lanes *v, int lanes) {
    const double *x = a->d, *y = b->d;
    switch (i->op) {
    case IND_LOOP_NEG: IND__LANE_LOOP(d, -x[l]);
    case IND_LOOP_ABS: IND__LANE_LOOP(d, fabs(x[l]));
    case IND_LOOP_EXP: IND__LANE_LOOP(d, exp(x[l]));
    case IND_LOOP_LOG: IND__LANE_LOOP(d, log(x[l]));
    case IND_LOOP_SQRT: IND__LANE_LOOP(d, sqrt(x[l]));
    case IND_LOOP_RSQRT: IND__LANE_LOOP(d, 1.0 / sqrt(x[l]));
    case IND_LOOP_RECIPROCAL: IND__LANE_LOOP(d, 1.0 / x[l]);
    case IND_LOOP_TANH: IND__LANE_LOOP(d, tanh(x[l]));
    case IND_LOOP_ERF: IND__LANE_LOOP(d, erf(x[l]));
    case IND_LOOP_SIGMOID: IND__LANE_LOOP(d, 1.0 / (1.0 + exp(-x[l])));
    case IND_LOOP_SIN: IND__LANE_LOOP(d, sin(x[l]));
    case IND_LOOP_COS: IND__LANE_LOOP(d, cos(x[l]));
    case IND_LOOP_TAN: IND__LANE_LOOP(d, tan(x[l]));
    case IND_LOOP_ASIN: IND__LANE_LOOP(d, asin(x[l]));
    case IND_LOOP_ACOS: IND__LANE_LOOP(d, acos(x[l]));
    case IND_LOOP_ATAN: IND__LANE_LOOP(d, atan(x[l]));
    case IND_LOOP_SINH: IND__LANE_LOOP(d, sinh(x[l]));
    case IND_LOOP_COSH: IND__LANE_LOOP(d, cosh(x[l]));
    case IND_LOOP_ASINH: IND__LANE_LOOP(d, asinh(x[l]));
    case IND_LOOP_ACOSH: IND__LANE_LOOP(d, acosh(x[l]));
    case IND_LOOP_ATANH: IND__LANE_LOOP(d, atanh(x[l]));
    case IND_LOOP_EXP2: IND__LANE_LOOP(d, exp2(x[l]));
    case IND_LOOP_EXPM1: IND__LANE_LOOP(d, expm1(x[l]));
    case IND_LOOP_LOG2: IND__LANE_LOOP(d, log2(x[l]));
    case IND_LOOP_LOG10: IND__LANE_LOOP(d, log10(x[l]));
    case IND_LOOP_LOG1P: IND__LANE_LOOP(d, log1p(x[l]));
    case IND_LOOP_FLOOR: IND__LANE_LOOP(d, floor(x[l]));
    case IND_LOOP_CEIL: IND__LANE_LOOP(d, ceil(x[l]));
    case IND_LOOP_TRUNC: IND__LANE_LOOP(d, trunc(x[l]));
    case IND_LOOP_RINT: IND__LANE_LOOP(d, rint(x[l]));
    case IND_LOOP_ERFC: IND__LANE_LOOP(d, erfc(x[l]));
    case IND_LOOP_LGAMMA: IND__LANE_LOOP(d, lgamma(x[l]));
    case IND_LOOP_ERFINV: IND__LANE_LOOP(d, ir__erfinv(x[l]));
    case IND_LOOP_DIGAMMA: IND__LANE_LOOP(d, ir__digamma(x[l]));
    case IND_LOOP_I0E: IND__LANE_LOOP(d, ir__bessel_ie(0, x[l]));
    case IND_LOOP_I1E: IND__LANE_LOOP(d, ir__bessel_ie(1, x[l]));
    case IND_LOOP_J0: IND__LANE_LOOP(d, ir__bessel(0, x[l]));
    case IND_LOOP_J1: IND__LANE_LOOP(d, ir__bessel(1, x[l]));
    case IND_LOOP_Y0: IND__LANE_LOOP(d, ir__bessel(2, x[l]));
    case IND_LOOP_Y1: IND__LANE_LOOP(d, ir__bessel(3, x[l]));
    case IND_LOOP_ROUND_F16: IND__LANE_LOOP(d, ind__f16_to_f32(ind__f32_to_f16((float)x[l])));
    case IND_LOOP_ROUND_BF16: IND__LANE_LOOP(d, ind__bf16_to_f32(ind__f32_to_bf16((float)x[l])));
    case IND_LOOP_ROUND_F8E4M3FN: IND__LANE_LOOP(d, ind__f8e4m3fn_to_f32(ind__f32_to_f8e4m3fn((float)x[l])));
    case IND_LOOP_ROUND_F8E5M2: IND__LANE_LOOP(d, ind__f8e5m2_to_f32(ind__f32_to_f8e5m2((float)x[l])));
    case IND_LOOP_ADD: IND__LANE_LOOP(d, x[l] + y[l]);
    case IND_LOOP_SUB: IND__LANE_LOOP(d, x[l] - y[l]);
    case IND_LOOP_MUL: IND__LANE_LOOP(d, x[l] * y[l]);
    case IND_LOOP_DIV: IND__LANE_LOOP(d, x[l] / y[l]);
    case IND_LOOP_POW: IND__LANE_LOOP(d, pow(x[l], y[l]));
    case IND_LOOP_MAXIMUM: IND__LANE_LOOP(d, x[l] != x[l] || x[l] > y[l] ? x[l] : y[l]);
    case IND_LOOP_MINIMUM: IND__LANE_LOOP(d, x[l] != x[l] || x[l] < y[l] ? x[l] : y[l]);
    case IND_LOOP_FMOD: IND__LANE_LOOP(d, fmod(x[l], y[l]));
    case IND_LOOP_ATAN2: IND__LANE_LOOP(d, atan2(x[l], y[l]));
    case IND_LOOP_HYPOT: IND__LANE_LOOP(d, hypot(x[l], y[l]));
    case IND_LOOP_COPYSIGN: IND__LANE_LOOP(d, copysign(x[l], y[l]));
    case IND_LOOP_NEXTAFTER: IND__LANE_LOOP(d, nextafter(x[l], y[l]));
    case IND_LOOP_ZETA: IND__LANE_LOOP(d, ir__zeta(x[l], y[l]));
    case IND_LOOP_IGAMMA: IND__LANE_LOOP(d, ir__igamma(x[l], y[l], false));
    case IND_LOOP_IGAMMAC: IND__LANE_LOOP(d, ir__igamma(x[l], y[l], true));
    case IND_LOOP_EQ: IND__LANE_LOOP(i, x[l] == y[l]);
    case IND_LOOP_NE: IND__LANE_LOOP(i, x[l] != y[l]);
    case IND_LOOP_LT: IND__LANE_LOOP(i, x[l] < y[l]);
    case IND_LOOP_LE: IND__LANE_LOOP(i, x[l] <= y[l]);
    case IND_LOOP_GT: IND__LANE_LOOP(i, x[l] > y[l]);
    case IND_LOOP_GE: IND__LANE_LOOP(i, x[l] >= y[l]);
    default: return;
    }
}

/* Powers of integers: 1 for exponent 0; for negative exponents 0, except for the bases 1 and -1. Wraps around. */
static int64_t ir__int_pow(int64_t base, int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
    uint64_t r = 1, b = (uint64_t)base;
    for (; exponent; exponent >>= 1, b *= b)
        if (exponent & 1) r *= b;
    return (int64_t)r;
}

/* Shifts in the sign, which C leaves to the compiler for negative numbers. */
static int64_t ir__shift_right(int64_t x, int64_t by) {
    return x < 0 ? ~(~x >> by) : x >> by;
}

/* Euclid's algorithm, on magnitudes. */
static int64_t ir__gcd(int64_t x, int64_t y) {
    uint64_t a = x < 0 ? 0 - (uint64_t)x : (uint64_t)x, b = y < 0 ? 0 - (uint64_t)y : (uint64_t)y;
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return (int64_t)a;
}

/* Operates on 64-bit values; the caller wraps the result. So a left shift by the type's width gives 0. */
IND__ALWAYS_INLINE int64_t ir__int_op(uint8_t op, int64_t x, int64_t y) {
    switch (op) {
    case IND_LOOP_NEG: return (int64_t)(0 - (uint64_t)x);
    case IND_LOOP_ABS: return x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
    case IND_LOOP_NOT: return !x;
    case IND_LOOP_ADD: return (int64_t)((uint64_t)x + (uint64_t)y);
    case IND_LOOP_SUB: return (int64_t)((uint64_t)x - (uint64_t)y);
    case IND_LOOP_MUL: return (int64_t)((uint64_t)x * (uint64_t)y);
    case IND_LOOP_DIV: return !y ? 0 : y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
    case IND_LOOP_POW: return ir__int_pow(x, y);
    case IND_LOOP_MAXIMUM: return x > y ? x : y;
    case IND_LOOP_MINIMUM: return x < y ? x : y;
    case IND_LOOP_FMOD: return !y ? x : y == -1 ? 0 : x % y;
    case IND_LOOP_BIT_AND: return x & y;
    case IND_LOOP_BIT_OR: return x | y;
    case IND_LOOP_BIT_XOR: return x ^ y;
    case IND_LOOP_SHIFT_LEFT: return y < 0 || y > 63 ? 0 : (int64_t)((uint64_t)x << y);
    case IND_LOOP_SHIFT_RIGHT: return ir__shift_right(x, y < 0 || y > 63 ? 63 : y);
    case IND_LOOP_GCD: return ir__gcd(x, y);
    case IND_LOOP_EQ: return x == y;
    case IND_LOOP_NE: return x != y;
    case IND_LOOP_LT: return x < y;
    case IND_LOOP_LE: return x <= y;
    case IND_LOOP_GT: return x > y;
    case IND_LOOP_GE: return x >= y;
    case IND_LOOP_AND: return x && y;
    default: return x || y;
    }
}

/* Operations on integers that have a loop over the lanes each. */
#define IND__INT_LANE_OPS(X)                                                                                           \
    X(IND_LOOP_NOT)                                                                                                    \
    X(IND_LOOP_ADD)                                                                                                    \
    X(IND_LOOP_SUB)                                                                                                    \
    X(IND_LOOP_MUL)                                                                                                    \
    X(IND_LOOP_MAXIMUM)                                                                                                \
    X(IND_LOOP_MINIMUM)                                                                                                \
    X(IND_LOOP_BIT_AND)                                                                                                \
    X(IND_LOOP_BIT_OR)                                                                                                 \
    X(IND_LOOP_BIT_XOR)                                                                                                \
    X(IND_LOOP_EQ)                                                                                                     \
    X(IND_LOOP_NE)                                                                                                     \
    X(IND_LOOP_LT)                                                                                                     \
    X(IND_LOOP_LE)                                                                                                     \
    X(IND_LOOP_GT)                                                                                                     \
    X(IND_LOOP_GE)                                                                                                     \
    X(IND_LOOP_AND)                                                                                                    \
    X(IND_LOOP_OR)

/* The integers of all lanes; `dtype` wraps around. */
static void ir__eval_int(ind_loop_op op, ind_dtype dtype, const int64_t *x, const int64_t *y, int64_t *out, int lanes) {
    switch (op) {
#define X(op)                                                                                                          \
    case op:                                                                                                           \
        for (int l = 0; l < lanes; l++) out[l] = ir__int_op(op, x[l], y[l]);                                           \
        break;
        IND__INT_LANE_OPS(X)
    default:
        for (int l = 0; l < lanes; l++) out[l] = ir__int_op((uint8_t)op, x[l], y[l]);
#undef X
    }
    if (dtype == IND_BOOL)
        for (int l = 0; l < lanes; l++) out[l] = out[l] != 0;
    else if (dtype != IND_I64)
        for (int l = 0; l < lanes; l++) out[l] = ind__wrap_int(dtype, out[l]);
}

static void ir__eval_where(ind_dtype d, const ind__lanes *c, const ind__lanes *a, const ind__lanes *b, ind__lanes *v,
                           int lanes) {
    if (d == IND_F32)
        for (int l = 0; l < lanes; l++) v->f[l] = c->i[l] ? a->f[l] : b->f[l];
    else
        for (int l = 0; l < lanes; l++) v->i[l] = c->i[l] ? a->i[l] : b->i[l]; /* copies the bits of f64 too */
}

/* Half (0 or 1) of the 128 bits of Philox 4x32-10. */
static uint64_t ir__philox(uint64_t key, uint64_t stream, uint64_t position, int half) {
    uint32_t x[4] = {(uint32_t)position, (uint32_t)(position >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
    uint32_t k[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    for (int round = 0; round < 10; round++, k[0] += 0x9e3779b9u, k[1] += 0xbb67ae85u) {
        uint64_t a = (uint64_t)x[0] * 0xd2511f53u, b = (uint64_t)x[2] * 0xcd9e8d57u;
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ x[1] ^ k[0], (uint32_t)b, (uint32_t)(a >> 32) ^ x[3] ^ k[1],
                            (uint32_t)a};
        memcpy(x, next, sizeof x);
    }
    return x[2 * half] | (uint64_t)x[2 * half + 1] << 32;
}

static void ir__eval_philox(const ind__eval *e, const ind__inst *i, ind__lanes *v, int lanes) {
    const ind__lanes *key = &e->value[i->arg[0]], *stream = &e->value[i->arg[1]], *at = &e->value[i->arg[2]];
    int first = (int)(i->imm.i & 255), width = (int)(i->imm.i >> 8);
    for (int l = 0; l < lanes; l++) {
        uint64_t bits = ir__philox((uint64_t)key->i[l], (uint64_t)stream->i[l], (uint64_t)at->i[l], first / 64);
        v->i[l] = (int64_t)(bits >> first % 64 & ((1ull << width) - 1));
    }
}

/* Calls the host twin once per lane; its arguments have compute types. */
static void ir__eval_call(const ind__eval *e, const ind__inst *i, ind__lanes *v, int lanes) {
    const ind__function *f = i->imm.function;
    ind_element x[IND_MAX_FUNCTION_ARGS] = {{.i = 0}};
    for (int l = 0; l < lanes; l++) {
        for (int k = 0; k < f->num_args; k++) {
            const ind__lanes *a = &e->value[i->arg[k]];
            ind_dtype d = ind_dtype_compute(f->arg_dtype[k]);
            if (d == IND_F32)
                x[k].f = a->f[l];
            else if (d == IND_F64)
                x[k].d = a->d[l];
            else
                x[k].i = a->i[l];
        }
        ind_element y = f->host(x, f->user);
        if (i->dtype == IND_F32)
            v->f[l] = y.f;
        else if (i->dtype == IND_F64)
            v->d[l] = y.d;
        else
            v->i[l] = ind__wrap_int((ind_dtype)i->dtype, y.i);
    }
}

static void ir__eval_inst(ind__eval *e, uint32_t n, int lanes) {
    const ind__inst *i = &e->body->inst[n];
    const ind__lanes *a = &e->value[i->arg[0]], *b = &e->value[i->arg[1]];
    ind__lanes *v = &e->value[n];
    ind_dtype operand = (ind_dtype)e->body->inst[i->arg[0]].dtype;
    switch (i->op) {
    case IND_LOOP_CONSTANT: ir__eval_constant(i, v, lanes); return;
    case IND_LOOP_INDEX: ir__eval_index_value(e, i, v, lanes); return;
    case IND_LOOP_LOAD: ir__eval_load(e, i, v, lanes); return;
    case IND_LOOP_STORE: ir__eval_store(e, i, lanes); return;
    case IND_LOOP_INDIRECT: ir__eval_indirect(e, n, i, lanes); return;
    case IND_LOOP_PACKED: memcpy(v->f, a->f, (size_t)lanes * sizeof *v->f); return;
    case IND_LOOP_CAST: ir__eval_cast(i, operand, a, v, lanes); return;
    case IND_LOOP_WHERE: ir__eval_where((ind_dtype)i->dtype, a, b, &e->value[i->arg[2]], v, lanes); return;
    case IND_LOOP_PHILOX: ir__eval_philox(e, i, v, lanes); return;
    case IND_LOOP_CALL: ir__eval_call(e, i, v, lanes); return;
    case IND_LOOP_REDUCE:
    case IND_LOOP_PART:
    case IND_LOOP_STATE:
    case IND_LOOP_PAIR:
    case IND_LOOP_SCAN: return; /* filled in by the caller */
    default: break;
    }
    if (operand == IND_F32)
        ir__eval_f32(i, a, b, v, lanes);
    else if (operand == IND_F64)
        ir__eval_f64(i, a, b, v, lanes);
    else
        ir__eval_int((ind_loop_op)i->op, (ind_dtype)i->dtype, a->i, b->i, v->i, lanes);
}

double ind__neutral_float(ind_reduction r) {
    return r == IND_REDUCE_MAX ? -INFINITY : r == IND_REDUCE_MIN ? INFINITY : r == IND_REDUCE_PROD;
}

int64_t ind__neutral_int(ind_reduction r, ind_dtype d) {
    bool lowest = r == IND_REDUCE_MAX;
    if (!lowest && r != IND_REDUCE_MIN) return r == IND_REDUCE_PROD;
    if (d == IND_BOOL || d == IND_U8) return lowest ? 0 : d == IND_BOOL ? 1 : UINT8_MAX;
    int64_t largest = INT64_MAX >> (64 - 8 * ind_dtype_bytes(d));
    return lowest ? -largest - 1 : largest;
}

/* The neutral element of the combination, in lane 0. */
static void ir__neutral_lane(const ind__inst *i, ind__lanes *v) {
    double neutral = ind__neutral_float((ind_reduction)i->reduction);
    if (i->dtype == IND_F32)
        v->f[0] = (float)neutral;
    else if (i->dtype == IND_F64)
        v->d[0] = neutral;
    else
        v->i[0] = ind__neutral_int((ind_reduction)i->reduction, (ind_dtype)i->dtype);
}

void ind__eval_begin_runs(ind__eval *e) {
    for (uint32_t n = 1; n < e->body->num_inst; n++) {
        const ind__inst *i = &e->body->inst[n];
        ind__lanes neutral;
        if (i->op != IND_LOOP_STORE || !(i->flags & IND__INST_RUN)) continue;
        ir__neutral_lane(i, &neutral);
        for (int64_t k = 0; k < e->buffer[i->source].numel; k++) ir__store_lane(&e->buffer[i->source], k, &neutral, 0);
    }
}

ind_status ind__eval_run(ind__eval *e, const uint32_t *inst, uint32_t num, int lanes) {
    if (lanes != e->lanes) {
        e->lanes = lanes;
        e->epoch++;
    }
    for (uint32_t k = 0; k < num; k++) ir__eval_inst(e, inst[k], lanes);
    return e->bad_access ? IND_ERROR_VERIFY : IND_OK;
}
IND__VECTORS_END

/* ======================================================================================== src/headers/inductor_ir.h */
#endif /* INDUCTOR_IR_IMPLEMENTATION_DONE */
#endif /* INDUCTOR_IR_IMPLEMENTATION */
