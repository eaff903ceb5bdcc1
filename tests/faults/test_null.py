"""NULL, invalid handles and numbers out of range for every parameter of every public function, one at a time, the other
arguments being good. The calls are generated from the declarations in the headers, so that a new function is covered when it is
declared. No crash, no complaint of the sanitizers, no leak; a status that says so where NULL has no meaning."""

import re
import subprocess

import pytest

from conftest import ROOT, make

FLAGS = ["-std=c11", "-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
# A good argument for each type; `s` holds what each call gets anew.
GOOD = {
    "ind_context *": "s.ctx",
    "ind_context **": "&s.other_ctx",
    "ind_context_desc *": "&(ind_context_desc){.device = IND_DEVICE_HOST}",
    "ind_graph *": "s.g",
    "ind_module *": "s.m",
    "ind_module **": "&s.other_m",
    "ind_instance *": "s.n",
    "ind_instance **": "&s.other_n",
    "ind_ops *": "s.ops",
    "ind_tensor": "s.x",
    "ind_tensor *": "s.tensors",
    "ind_expr": "ind_int(s.ctx, 2)",
    "ind_expr *": "s.exprs",
    "ind_formula": "ind_int(s.ctx, 2)",
    "ind_value": "s.value",
    "ind_value *": "&s.value",
    "ind_pass_desc *": '&(ind_pass_desc){.name = "mine", .visit = good_visit}',
    "ind_function_desc *": '&(ind_function_desc){"f(x: f32) -> f32", "x", NULL, NULL}',
    "ind_extern_desc *": '&(ind_extern_desc){.name = "e", .host = good_call}',
    "ind_extern_args *": '&(ind_extern_args){.inputs = &s.x, .num_inputs = 1, .results = (const char *[]){"f32[2]"}, .num_results = 1}',
    "ind_loop_fn": "good_fn",
    "ind_symbol_value_fn": "good_symbol",
    "ind_symbol *": '&(ind_symbol){.kind = IND_SYMBOL_SIZE, .name = "Q", .lo = 1, .hi = 9, .multiple_of = 1, .hint = 2}',
    "ind_attention_desc *": "&(ind_attention_desc){0}",
    "ind_dequantise_desc *": '&(ind_dequantise_desc){.format = "q8_0"}',
    "ind_scaled_mm_desc *": "&(ind_scaled_mm_desc){.out_dtype = IND_F32}",
    "ind_loop_desc *": '&(ind_loop_desc){.name = "mine", .like = s.x, .fn = good_fn}',
    "ind_scan_desc *": "&(ind_scan_desc){.x = s.tensors, .num = 2, .dim = 0, .combine = good_combine}",
    "ind_pool_desc *": "&(ind_pool_desc){.kernel_size = {1, 1, 1}}",
    "ind_conv_desc *": "&(ind_conv_desc){0}",
    "ind_compile_desc *": "&(ind_compile_desc){.device = IND_DEVICE_HOST}",
    "ind_run_desc *": "&s.run",
    "ind_binding *": "s.io",
    "ind_export_desc *": '&(ind_export_desc){.name = "m", .modules = &s.m, .num_modules = 1, .header = "m.h", .source = "m.c"}',
    "ind_launch_desc *": "&s.launch",
    "ind_page_desc *": "&s.page",
    "ind_instance_desc *": "&(ind_instance_desc){0}",
    "ind_target *": "&s.target",
    "ind_cubin *": "&s.cubin",
    "ind_pack_info *": "&(ind_pack_info){0}",
    "ind_pack_kernel *": "&(ind_pack_kernel){.bytes = 0}",
    "ind_kernel_time *": "s.times",
    "ind_tuned *": "s.tuned",
    "ind_kernel_info *": "&s.kernel",
    "ind_edge_info *": "&s.edge",
    "ind_facts *": "s.facts",
    "ind_facts **": "&s.other_facts",
    "ind_find_symbol_fn": "good_find",
    "ind_evaluator *": "s.evaluator",
    "ind_evaluator **": "&s.other_evaluator",
    "ind_formula *": "s.exprs",
    "bool *": "&s.flag",
    "char *": '"B in [1, 4]"',
    "char * writable": "s.text",
    "char **": "&(const char *){s.text}",
    "int *": "s.ints",
    "int64_t *": "s.longs",
    "double *": "s.doubles",
    "void *": "s.memory",
    "void **": "&s.pointer",
    "int": "1",
    "size_t": "8",
    "int64_t": "2",
    "double": "1.5",
    "ind_attention_desc *": "&s.attention",
    "bool": "true",
}
# (function, parameter) where NULL or an invalid handle is documented to have a meaning, so that success is right.
ALLOWED = {
    ("ind_adaptive_max_pool", "indices"),
    ("ind_aminmax", "max"),
    ("ind_at_end", "graph"),  # a failed graph: the tensor comes back
    ("ind_arange", "start"),
    ("ind_arange", "step"),
    ("ind_as_strided", "storage_offset"),
    ("ind_clamp", "max"),
    ("ind_clamp", "min"),
    ("ind_compile", "desc"),
    ("ind_context_create", "desc"),
    ("ind_convolution", "bias"),
    ("ind_convolution", "conv"),
    ("ind_convolution_backward", "conv"),
    ("ind_cummax", "indices"),
    ("ind_cummin", "indices"),
    ("ind_diff", "append"),
    ("ind_diff", "prepend"),
    ("ind_evaluator_run", "sizes_v"),  # the module has no size
    ("ind_expr_eval", "user"),
    ("ind_expr_eval", "value"),  # only asked where there is a symbol
    ("ind_expr_parse", "column"),
    ("ind_expr_parse", "user"),
    ("ind_eye", "m"),
    ("ind_facts_check", "failed"),
    ("ind_facts_check", "user"),
    ("ind_facts_check", "value"),  # as in ind_expr_eval
    ("ind_formula_eval", "sizes"),  # a number needs none
    ("ind_graph_create", "name"),
    ("ind_guard_that", "holds"),
    ("ind_instance_create", "desc"),
    ("ind_kthvalue", "indices"),
    ("ind_linear", "bias"),
    ("ind_max", "indices"),
    ("ind_max_pool", "indices"),
    ("ind_median", "indices"),
    ("ind_min", "indices"),
    ("ind_module_kernel_buffer", "tensor"),
    ("ind_module_shape", "data_sizes"),
    ("ind_module_shape", "sizes"),  # the module has no size
    ("ind_mode", "indices"),
    ("ind_named", "name"),
    ("ind_nan_to_num", "neginf"),
    ("ind_nan_to_num", "posinf"),
    ("ind_nanmedian", "indices"),
    ("ind_nanquantile", "interpolation"),
    ("ind_module_html", "sizes"),
    ("ind_module_page", "desc"),
    ("ind_native_dropout", "mask"),
    ("ind_profile", "num_times"),
    ("ind_profile", "total_ms"),
    ("ind_quantile", "interpolation"),
    ("ind_rms_norm", "weight"),
    ("ind_scaled_dot_product_attention", "attn_mask"),
    ("ind_scaled_dot_product_attention", "desc"),
    ("ind_searchsorted", "sorter"),
    ("ind_simplify", "facts"),
    ("ind_slice", "end"),
    ("ind_slice", "start"),
    ("ind_slice", "step"),
    ("ind_slice_scatter", "end"),
    ("ind_slice_scatter", "start"),
    ("ind_slice_scatter", "step"),
    ("ind_sort", "indices"),
    ("ind_std_mean", "mean"),
    ("ind_topk", "indices"),
    ("ind_tril", "diagonal"),
    ("ind_triu", "diagonal"),
    ("ind_unique", "counts"),
    ("ind_unique", "inverse"),
    ("ind_unique_consecutive", "counts"),
    ("ind_unique_consecutive", "inverse"),
    ("ind_unique_dim", "counts"),
    ("ind_unique_dim", "inverse"),
    ("ind_unique_dim_consecutive", "counts"),
    ("ind_unique_dim_consecutive", "inverse"),
    ("ind_var_mean", "mean"),
}
# Numbers that say how long an array is: the library cannot see a lie.
LENGTHS = {"length", "bytes", "num_bindings", "num", "size", "max_times", "max_tuned", "repeats"}

PRELUDE = r"""
#include "inductor.h"
#include <stdio.h>

typedef struct state {
    ind_context *ctx, *other_ctx;
    ind_graph *g;
    ind_module *m, *other_m;
    ind_instance *n, *other_n;
    ind_tensor x, tensors[128];
    ind_expr exprs[128];
    ind_ops *ops;
    ind_value value;
    ind__recorder recorder;
    ind_target target;
    ind_cubin cubin;
    ind_kernel_time times[128];
    ind_tuned tuned[128];
    ind_kernel_info kernel;
    ind_edge_info edge;
    ind_attention_desc attention;
    ind_evaluator *evaluator, *other_evaluator;
    ind_facts *facts, *other_facts;
    bool flag;
    ind_run_desc run;
    ind_launch_desc launch;
    ind_page_desc page;
    ind_binding io[2];
    char text[256];
    int ints[128];
    int64_t longs[128];
    double doubles[128];
    char memory[4096];
    void *pointer;
} state;

static float in_data[16], out_data[16];
static int failed, calls;
static const char *now;

static ind_value good_fn(ind_ops *o, const ind_expr *index, int rank, void *user) {
    (void)index, (void)rank, (void)user;
    return ind_op_constant(o, 1, IND_F32);
}

static ind_tensor good_visit(const ind_visited_op *op, void *user) {
    (void)op, (void)user;
    return ind_no_tensor();
}

static void good_combine(ind_ops *o, const ind_value *left, const ind_value *right, ind_value *out, void *user) {
    (void)user;
    for (int k = 0; k < 2; k++) out[k] = ind_op_add(o, left[k], right[k]);
}

static ind_status good_call(const ind_extern_call *call) {
    return call ? IND_OK : IND_ERROR_INVALID_ARGUMENT;
}

static bool good_symbol(const ind_symbol *symbol, void *user, int64_t *out) {
    (void)symbol, (void)user;
    *out = 2;
    return true;
}

static state s;

static ind_expr good_find(const char *name, size_t length, void *user) {
    (void)name, (void)length, (void)user;
    return ind_int(s.ctx, 2);
}

static void setup(const char *name) {
    now = name;
    calls++;
    memset(&s, 0, sizeof s);
    if (ind_context_create(&(ind_context_desc){.device = IND_DEVICE_HOST, .num_threads = 1}, &s.ctx)) return;
    s.g = ind_graph_create(s.ctx, "g");
    s.x = ind_input(s.g, "x", "f32[2, 2]");
    ind_output(s.g, "y", ind_exp(s.x));
    ind_compile(s.g, NULL, &s.m);
    ind_instance_create(s.m, NULL, &s.n);
    ind_facts_create(s.ctx, &s.facts);
    ind_formula two = ind_int(s.ctx, 2);
    ind_evaluator_create(s.m, &two, 1, &s.evaluator);
    for (int i = 0; i < 128; i++) s.tensors[i] = s.x, s.exprs[i] = ind_int(s.ctx, 2);
    s.exprs[1] = ind_int(s.ctx, 2);
    s.ints[0] = 1, s.ints[1] = 0;
    ind__record_begin(&s.recorder, s.ctx, s.exprs, 1, NULL, 0);
    s.ops = &s.recorder.ops;
    s.value = ind_op_constant(s.ops, 1, IND_F32);
    s.io[0] = (ind_binding){"x", in_data}, s.io[1] = (ind_binding){"y", out_data};
    s.run = (ind_run_desc){.bindings = s.io, .num_bindings = 2, .memory = IND_MEMORY_HOST};
    s.launch = (ind_launch_desc){.bindings = s.io, .num_bindings = 2};
}

static void teardown(void) {
    ind__record_abort(&s.recorder);
    ind_context_destroy(s.other_ctx);
    ind_context_destroy(s.ctx);
}

static void expect_refused(bool refused) {
    if (refused) return;
    failed++;
    printf("%s: accepted\n", now);
}

int main(void) {
"""


def declarations():
    """(result, name, [(type, parameter)]) of every IND_API function."""
    text = subprocess.run(["gcc", "-std=c11", "-E", "-P", "-DIND_API=IND_API", f"-I{ROOT}", ROOT / "inductor.h"], capture_output=True, text=True, check=True).stdout
    text = " ".join(re.sub(r"__attribute__\s*\(\(.*?\)\)\)", "", text).split())
    for result, name, parameters in re.findall(r"IND_API ([\w\s*]*?)(\bind_\w+) ?\(([^;{]*?)\);", text):
        found = []
        for parameter in parameters.split(","):
            if parameter.strip() == "void":
                continue
            constant = "const" in parameter
            kind, label = re.match(r"(.*?)(\w+)$", parameter.replace("const ", "").replace("*const", "*").strip()).groups()
            kind = kind.strip().replace("_Bool", "bool")
            found.append((kind + (" writable" if kind == "char *" and not constant else ""), label))
        yield result.replace("const", "").strip(), name, found


def good(kind):
    if kind in GOOD:
        return GOOD[kind]
    assert "*" not in kind, f"no good argument is known for the type {kind}"
    return f"({kind})1"  # an enumeration


def bad_values(name, kind, label):
    """Arguments to try, with whether they must be refused."""
    if kind.endswith("*") or kind.endswith("writable") or kind.endswith("_fn"):
        return [("NULL", (name, label) not in ALLOWED)]
    if kind in ("ind_expr", "ind_formula"):  # one not given, and one that failed
        return [("(ind_expr){0}", (name, label) not in ALLOWED), ("(ind_expr){.context = s.ctx}", True)]
    if kind in ("ind_tensor", "ind_value"):
        return [("(%s){0}" % kind, (name, label) not in ALLOWED)]
    if kind in ("bool", "double"):
        return []
    if kind in ("int", "int64_t", "size_t"):
        return [] if label in LENGTHS else [("-1", False), ("99", False), ("-99", False)]
    return [(f"({kind})-1", False), (f"({kind})99", False)]


def check(result, call, must_refuse):
    """C for one call; whether it was refused, by the type of the result."""
    tests = {"ind_status": "{} != IND_OK", "ind_tensor": "!{}.id", "ind_expr": "!{}.id", "ind_value": "!{}.id", "ind_graph *": "!{}"}
    if must_refuse and result in tests:
        return f"expect_refused({tests[result].format(call)});"
    return f"(void){call};" if result != "void" else f"{call};"


def calls():
    for result, name, parameters in declarations():
        for at, (kind, label) in enumerate(parameters):
            for value, must_refuse in bad_values(name, kind, label):
                arguments = ", ".join(value if k == at else good(other) for k, (other, _) in enumerate(parameters))
                call = check(result, f"{name}({arguments})", must_refuse)
                yield f'    setup("{name}: {label} = {value}");\n    {call}\n    teardown();\n'



def test_null(tmp_path, device):
    if device != "host":
        pytest.skip("does not depend on the device")
    generated = list(calls())
    assert len(generated) > 300
    source, program = tmp_path / "null.c", tmp_path / "null"
    functions = [f"static void part_{i}(void) {{\n{''.join(generated[i : i + 40])}}}\n" for i in range(0, len(generated), 40)]
    prelude, main = PRELUDE.rsplit("int main", 1)
    body = "".join(f"    part_{i}();\n" for i in range(0, len(generated), 40))
    source.write_text(prelude + "\n".join(functions) + "\nint main" + main + body + '    printf("%d calls\\n", calls);\n    return failed != 0;\n}\n')
    objects = [make(f"build/tests/objects/{header.stem}.o") for header in sorted(ROOT.glob("inductor*.h"))]
    build = subprocess.run(["cc", *FLAGS, f"-I{ROOT}", source, *objects, "-o", program, "-lm", "-lpthread", "-ldl"], capture_output=True, text=True)
    assert build.returncode == 0, build.stderr[:4000]
    done = subprocess.run([program], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=280)
    assert done.returncode == 0, "\n".join(done.stdout.splitlines()[:80])
    assert f"{len(generated)} calls" in done.stdout

