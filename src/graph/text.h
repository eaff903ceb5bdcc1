/* -------------------------------------------------------------------------------------------------- >>text */

/* Reads a graph in the text form; `file` is for messages (NULL: "<text>"). NULL on failure: ind_error says file, line,
   column, what was found and what is allowed.

   grammar:
     graph     = "graph" name "{" { statement newline } "}"
     statement = size | fact | guard | function | input | const | assign | mutate | donate | output
     size      = "size" name "in" "[" int "," int "]" [ "multiple_of" int ] [ "hint" int ]
     fact      = "fact" expr                      guard = "guard" expr      (a condition on sizes; see ind_fact)
     input     = "input" name ":" type            const = "const" name ":" type
     function  = "function" name "(" [ name ":" dtype { "," name ":" dtype } ] ")" "->" dtype "=" string
                 (CUDA C; see ind_function_register, which gives it a host twin)
     assign    = [ result { "," result } "=" ] op "(" [ argument { "," argument } ] ")"
                 (op: also a function's name; with an underscore behind a name of the op table in place, then its result
                 may stay without a name: one given to it is another name for its first operand)
               | result { "," result } "=" "extern" "(" string { "," name } [ "," "workspace" "=" expr ]
                 [ "," "mutates" "=" "[" int { "," int } "]" ] ")"
                 (see ind_extern; the results have types unless a shape rule is registered)
     result    = name [ ":" type ]
     mutate    = "mutate" name "=" name              (an input, and what its memory holds after; see ind_mutate)
     donate    = "donate" name                       (an input whose memory may be written over; see ind_donate)
     output    = "output" named { "," named }       named = name [ "=" name ]   (output y = x: x comes back as y)
     type      = dtype "[" [ expr { "," expr } ] "]"   (a result of nonzero and its like: names the size from data)
     argument  = [ name "=" ] value
     combine   = { name "=" joined ";" } joined { "," joined }      (in the string `combine` of associative_scan, whose
                 list has count values, as many identities if it is exclusive, then the segments if it is segmented)
     joined    = name | dtype "(" ( number | name ) ")" | op "(" joined { "," joined } ")"     (name: l0, l1, .. r0, r1,
                 .. of the left and the right element, or one given before; a type makes a number or casts; op: of
                 IND_LOOP_OPS, or a function; what it takes is a name, a number or a cast)
     value     = name | number | string | "true" | "false" | "none" | dtype | expr | "[" [ value { "," value } ] "]"
     string    = characters of one line in double quotes; \n is a new line, \" a quote, \\ a backslash, other escapes
   are errors comments run from # to the end of the line; the text ends at its first zero byte. */
IND_API ind_graph *ind_graph_parse(ind_context *context, const char *text, const char *file);
/* The graph as text; parses back to the same graph. Owned by the graph, valid until it changes. NULL: no memory. */
IND_API const char *ind_graph_text(ind_graph *graph);
