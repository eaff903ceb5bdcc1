/* -------------------------------------------------------------------------------------------------- >>text */

/* Reads a graph in the text form; `file` is for messages (NULL: "<text>"). NULL on failure: ind_error names file, line,
   column, the token found and the tokens allowed.

   grammar:
     graph     = "graph" name "{" { statement newline } "}"
     statement = size | fact | guard | function | pattern | input | const | assign | mutate | donate | output
     size      = "size" name "in" "[" int "," int "]" [ "multiple_of" int ] [ "hint" int ]
               | "size" name "device" "in" "[" expr "," expr "]" [ "hint" int ]
                 (an input "name : i64[]" whose value is the size: see ind_arange_of_item)
     fact      = "fact" expr                      guard = "guard" expr      (a condition on sizes; see ind_fact)
     input     = "input" name ":" type            const = "const" name ":" type
     function  = "function" name "(" [ name ":" dtype { "," name ":" dtype } ] ")" "->" dtype "=" string
                 (CUDA C; see ind_function_register, which gives it a host twin)
     pattern   = see ind_pattern_register
     assign    = [ result { "," result } "=" ] op "(" [ argument { "," argument } ] ")"
                 (op: an op of the table or a function; an op of the table with an underscore after its name is in
                 place. The result of an op in place needs no name; a name for it is an alias of its first operand)
               | result { "," result } "=" "extern" "(" string { "," name } [ "," "workspace" "=" expr ]
                 [ "," "mutates" "=" "[" int { "," int } "]" ] ")"
                 (see ind_extern; the results have types unless a shape rule is registered)
     result    = name [ ":" type ]
     mutate    = "mutate" name "=" name              (an input, and its contents after the run; see ind_mutate)
     donate    = "donate" name                       (an input whose memory may be overwritten; see ind_donate)
     output    = "output" named { "," named }       named = name [ "=" name ]   (output y = x: returns x as y)
     type      = dtype "[" [ expr { "," expr } ] "]"   (a result of nonzero and its like: names its data-dependent size)
     argument  = [ name "=" ] value
     combine   = { name "=" term ";" } term { "," term }      (in the string `combine` of associative_scan. Its
                 list has count values, then count identities if exclusive, then the segments if segmented)
     term      = name | dtype "(" ( number | name ) ")" | op "(" term { "," term } ")"     (name: l0, l1, .. r0, r1,
                 .. of the left and the right element, or an earlier one; a type declares a number or casts; op: of
                 IND_LOOP_OPS, or a function; its arguments are names, numbers and casts)
     value     = name | number | string | "true" | "false" | "none" | dtype | expr | "[" [ value { "," value } ] "]"
     string    = characters of one line in double quotes; \n is a new line, \" a quote, \\ a backslash; other
                 escapes are errors
   Comments run from # to the end of the line; the text ends at its first zero byte. */
IND_API ind_graph *ind_graph_parse(ind_context *context, const char *text, const char *file);
/* Returns the graph as text, which parses to the same graph. The graph owns it; it is valid until the graph changes.
   NULL: out of memory. */
IND_API const char *ind_graph_text(ind_graph *graph);
