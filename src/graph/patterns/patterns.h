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
     line        = "input" operand { "," operand } | "shared" name { "," name } | "guard" expr | assign
     operand     = name [ ":" class [ "[" [ ".." ] { expr "," } "]" ] ] [ "optional" ]
     class       = dtype | "any" | "float" | "integer" | "number" | name
     assign      = name { "," name } "=" op "(" [ argument { "," argument } ] ")"
     replacement = assign

   The first part is matched:
   - An input stands for any tensor of its class and shape. "any" is the default. A name as class stands for a type, the
     same one wherever it occurs. "number" is a tensor whose elements all have one known value, or a Python number.
     "optional": the operand may be absent; it is also absent in the replacement.
   - In a shape, a name stands for a size, the same one wherever it occurs; ".." for any number of leading dimensions.
     Without a shape, any shape matches. Sizes are compared under the facts of the graph.
   - A number matches a number operand, and a tensor whose elements all have this value.
   - An attribute that is not written must have its default. A name as its value stands for any value. Dimensions count
     from either end.
   - The operands of commutative ops match in either order.
   - A guard must be proven by the ranges and facts of the graph, for all sizes.
   - Only ops that are nodes of a graph can be matched. Composites are expanded when a graph is built; the message lists
     none of their ops, IND_STAGE_GRAPH does.

   The second part replaces it. A name that both parts assign is an output: its users get the new value, which must be
   proven to have the same type and shape. The other results of the first part must have no other users, unless they are
   "shared". The names of the first part stand for what they matched: tensors, sizes, types, attribute values.

   ERRORS: IND_PARSE (file "<pattern>", line, column), IND_INVALID_ARGUMENT (NULL), IND_LIMIT, IND_OUT_OF_MEMORY. After
   an error no pattern of the text is registered. */
IND_API ind_status ind_pattern_register(ind_context *context, const char *text);
