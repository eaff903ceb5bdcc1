/* --------------------------------------------------------------------------------------------- >>patterns */

/* Registers patterns: rewrites that a pass applies to every graph compiled in this context after the call. Patterns
   registered earlier are tried first, those in the text of a graph before all others.

       pattern quick_gelu {
         input x : float
         s = mul(x, 1.702)
         t = sigmoid(s)
         y = mul(x, t)
       } => {
         y = quick_gelu(x)
       }

   grammar (the rest as in ind_graph_parse):
     patterns    = { pattern }
     pattern     = "pattern" name "{" { line newline } "}" "=>" "{" { replacement newline } "}"
     line        = "input" operand { "," operand } | "shared" name { "," name } | "guard" expr | "off" string | assign
                 | "where" condition { "," condition }
     operand     = name [ ":" type ] [ "const" | "varying" ] [ "optional" ]
     type        = class [ "[" [ ".." ] { expr "," } "]" ]
     class       = dtype | "any" | "float" | "integer" | "number" | name
     assign      = name [ ":" type ] "=" alternative { "|" alternative } | name "," name { "," name } "=" call
     alternative = call | name
     replacement = name { "," name } "=" alternative { "|" alternative }
     condition   = test "(" name { "," name } ")"
     call        = op "(" [ argument { "," argument } ] ")"

   The first part is matched:
   - An input stands for any tensor of its class and shape. "any" is the default, and also takes a Python number. A name
     as class stands for a type, the same one wherever it occurs. "number" is a tensor whose elements all have one known
     value, or a Python number. "const" is a tensor that depends on constants of the graph alone, "varying" one that
   does not. "optional": the operand may be absent; then it is absent in the replacement, too.
   - In a shape, a name stands for a size, the same one wherever it occurs; ".." for any number of leading dimensions.
     Without a shape, any shape matches. Sizes are compared under the facts of the graph.
   - A number matches a number operand, and a tensor whose elements all have this value.
   - An attribute that is not written must have its default. A name as its value stands for any value. Dimensions count
     from either end; a name for one counts from the front.
   - Alternatives are tried in order. `ps = mul(p, c) | p` matches with the product and without it. Without it, c is not
     matched: as an operand it is absent, as a factor it is 1.
   - The operands of commutative ops match in either order.
   - A guard must be proven by the ranges and facts of the graph, for all sizes.
   - "where" has conditions on what is no size: constant(x): x is absent or depends on constants alone; same_rank(x, y);
     per_channel(s, x): s, broadcast with x, has one number for each element of dimension 1 of x; positive(a): the value
     of an attribute is greater than 0; long_float(T): T is f32 or f64; computed_as_f32(T): T is f32, f16 or bf16.
   - An op that is expanded when a graph is built cannot be matched. IND_STAGE_GRAPH shows the ops of the expansion.

   The second part replaces it. A name that both parts assign is an output: its users get the new value, which must be
   proven to have the same type and shape. The other results of the first part must have no other users, unless they are
   "shared". Of alternatives, the first one is made whose op has all operands that it requires; if there is none, its
   name is an absent operand. The names of the first part stand for what they matched: tensors, sizes, types, attribute
   values. An attribute that is a number may be a product: scale=a*b/2. The value of an attribute may be an operand that
   is a number.

   "off" has the reason why the pattern is not applied unless ind_compile_desc.enabled_patterns names it.

   ERRORS: IND_ERROR_PARSE and IND_ERROR_NOT_SUPPORTED (an op that cannot be matched), with file "<pattern>", line and
   column; IND_ERROR_INVALID_ARGUMENT (NULL; a name is registered already); IND_ERROR_LIMIT; IND_ERROR_OUT_OF_MEMORY.
   After an error no pattern of the text is registered. */
IND_API ind_status ind_pattern_register(ind_context *context, const char *text);
