/* chat_template.h: writes messages as a language model wants them, in one of the known forms of chat templates.
 *
 *     const chat_template *t = chat_template_find(text, bytes);       NULL: not a known form
 *     chat_template_system(text, bytes, system, sizeof system);       the default system message, or ""
 *     chat_template_write(t, system, false, user, &writer);           the parts up to the answer, in order
 *
 * A template is a program in Jinja, which is not run: the form is recognised by the names of its control tokens.
 */
#ifndef CHAT_TEMPLATE_H
#define CHAT_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct chat_template {
    const char *name;
    const char *marks[3]; /* the template has all of these texts, and no form before it in the table fits */
    const char *system_begin, *system_end; /* around the system message; NULL: it begins the first user message .. */
    const char *system_join;               /* .. followed by this */
    const char *user_begin, *user_end, *answer_begin;
    const char *answer_end; /* follows an answer, before the next message */
    const char *stop;       /* the token that ends an answer */
    bool trims;             /* white space around messages is removed */
} chat_template;

/* Receives the parts of a message in order. `control`: names of control tokens in it stand for these tokens. Returns 0,
   or another number, which ends the message. */
typedef struct chat_writer {
    int (*write)(void *user, const char *text, size_t bytes, bool control);
    void *user;
} chat_writer;

static const chat_template chat_templates[] = {
    {.name = "ChatML",
     .marks = {"<|im_start|>"},
     .system_begin = "<|im_start|>system\n",
     .system_end = "<|im_end|>\n",
     .user_begin = "<|im_start|>user\n",
     .user_end = "<|im_end|>\n",
     .answer_begin = "<|im_start|>assistant\n",
     .answer_end = "<|im_end|>\n",
     .stop = "<|im_end|>"},
    {.name = "Llama 3",
     .marks = {"<|start_header_id|>", "<|eot_id|>"},
     .system_begin = "<|start_header_id|>system<|end_header_id|>\n\n",
     .system_end = "<|eot_id|>",
     .user_begin = "<|start_header_id|>user<|end_header_id|>\n\n",
     .user_end = "<|eot_id|>",
     .answer_begin = "<|start_header_id|>assistant<|end_header_id|>\n\n",
     .answer_end = "<|eot_id|>",
     .stop = "<|eot_id|>",
     .trims = true},
    {.name = "Gemma",
     .marks = {"<start_of_turn>"},
     .system_join = "\n\n",
     .user_begin = "<start_of_turn>user\n",
     .user_end = "<end_of_turn>\n",
     .answer_begin = "<start_of_turn>model\n",
     .answer_end = "<end_of_turn>\n",
     .stop = "<end_of_turn>",
     .trims = true},
    {.name = "Phi-4-mini",
     .marks = {"<|end|>", "'<|' + message['role'] + '|>'"},
     .system_begin = "<|system|>",
     .system_end = "<|end|>",
     .user_begin = "<|user|>",
     .user_end = "<|end|>",
     .answer_begin = "<|assistant|>",
     .answer_end = "<|end|>",
     .stop = "<|end|>"},
    {.name = "Phi-3",
     .marks = {"<|end|>", "<|user|>"},
     .system_begin = "<|system|>\n",
     .system_end = "<|end|>\n",
     .user_begin = "<|user|>\n",
     .user_end = "<|end|>\n",
     .answer_begin = "<|assistant|>\n",
     .answer_end = "<|end|>\n",
     .stop = "<|end|>"},
    {.name = "Mistral, with a system prompt",
     .marks = {"[INST]", "[SYSTEM_PROMPT]"},
     .system_begin = "[SYSTEM_PROMPT]",
     .system_end = "[/SYSTEM_PROMPT]",
     .user_begin = "[INST]",
     .user_end = "[/INST]",
     .answer_begin = "",
     .answer_end = "</s>",
     .stop = "</s>"},
    {.name = "Mistral, Tekken", /* tokens are not followed by a space */
     .marks = {"\"[INST]\"", "[AVAILABLE_TOOLS]"},
     .system_join = "\n\n",
     .user_begin = "[INST]",
     .user_end = "[/INST]",
     .answer_begin = "",
     .answer_end = "</s>",
     .stop = "</s>"},
    {.name = "Mistral",
     .marks = {"[INST]"},
     .system_join = "\n\n",
     .user_begin = "[INST] ",
     .user_end = " [/INST]",
     .answer_begin = "",
     .answer_end = "</s>",
     .stop = "</s>"},
};

/* The first `part` in text[bytes], or NULL. */
static inline const char *chat_template__find(const char *text, size_t bytes, const char *part) {
    const size_t length = strlen(part);
    for (size_t i = 0; i + length <= bytes; i++)
        if (!memcmp(text + i, part, length)) return text + i;
    return NULL;
}

/* The form of a template, or NULL. */
static inline const chat_template *chat_template_find(const char *text, size_t bytes) {
    for (size_t i = 0; i < sizeof chat_templates / sizeof *chat_templates; i++) {
        const chat_template *t = &chat_templates[i];
        bool fits = true;
        for (int k = 0; k < 3 && t->marks[k]; k++) fits &= chat_template__find(text, bytes, t->marks[k]) != NULL;
        if (fits) return t;
    }
    return NULL;
}

/* The default system message of a ChatML template: the text between its marks; "" for other forms. A text that does not
   fit into out[size] is cut. */
static inline void chat_template_system(const char *text, size_t bytes, char *out, size_t size) {
    static const char *const begins[] = {"<|im_start|>system\\n",
                                         "<|im_start|>system\n"}; /* an escape or a line break */
    const char *from = NULL, *to = NULL, *end = text + bytes;
    size_t used = 0;
    for (int k = 0; k < 2 && !from; k++)
        if ((from = chat_template__find(text, bytes, begins[k]))) from += strlen(begins[k]);
    if (from) to = chat_template__find(from, (size_t)(end - from), "<|im_end|>");
    for (; to && from < to && used + 1 < size; from++) out[used++] = *from;
    /* Code of the template is no text: braces, or a string that ends before the mark. */
    if (memchr(out, '{', used) || memchr(out, '}', used) || (used && strchr("'\"", *out))) used = 0;
    out[used] = 0;
}

static inline void chat_template__trim(const char **text, size_t *bytes) {
    static const char space[] = " \t\r\n";
    while (*bytes && strchr(space, **text)) ++*text, --*bytes;
    while (*bytes && strchr(space, (*text)[*bytes - 1])) --*bytes;
}

static inline int chat_template__message(const chat_template *t, const chat_writer *w, const char *text) {
    size_t bytes = strlen(text);
    if (t->trims) chat_template__trim(&text, &bytes);
    return w->write(w->user, text, bytes, false);
}

static inline int chat_template__control(const chat_writer *w, const char *text) {
    return *text ? w->write(w->user, text, strlen(text), true) : 0;
}

/* Writes a user message up to where the answer begins. system: of the first message of a conversation, NULL or "":
   none. `follows`: an answer came before it, without the token that ends it. */
static inline int chat_template_write(const chat_template *t, const char *system, bool follows, const char *user,
                                      const chat_writer *w) {
    const bool has_system = system && *system, apart = t->system_begin != NULL;
    int failed = follows ? chat_template__control(w, t->answer_end) : 0;
    if (!failed && has_system && apart)
        failed = chat_template__control(w, t->system_begin) || chat_template__message(t, w, system) ||
                 chat_template__control(w, t->system_end);
    failed = failed || chat_template__control(w, t->user_begin);
    if (!failed && has_system && !apart)
        failed = chat_template__message(t, w, system) || chat_template__control(w, t->system_join);
    return failed || chat_template__message(t, w, user) || chat_template__control(w, t->user_end) ||
           chat_template__control(w, t->answer_begin);
}

#endif /* CHAT_TEMPLATE_H */
