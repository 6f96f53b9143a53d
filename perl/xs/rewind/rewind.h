/* The functions for a template's child that serves one request after another. */
#ifndef MEHARI_REWIND_H
#define MEHARI_REWIND_H

#include "mehari.h"

/* Called in the template before and after compiling: brings together on few pages what the process
 * allocates from now on. `with_request`: also moves there what each request writes. */
void mehari_rewind_tidy(pTHX_ bool with_request);
/* Called in the template after compiling. Returns NULL, or the reason for which the process
 * cannot be rewound. `where_room`: refuse if the pictures fill their memory. */
const char *mehari_rewind_open(pTHX_ bool where_room);
const char *mehari_rewind_examine(void); /* after `open`: NULL, or why the child cannot be rewound */
/* After `examine`: tells the checks after each rewind. Stops the timers of the process. */
void mehari_rewind_explain(void (*tell)(const char *format, ...) __attribute__((format(printf, 1, 2))));
uint32_t mehari_rewind_pages(void); /* that the picture itself holds */
uint32_t mehari_rewind_shared_pages(void); /* that are mapped from the base picture */
/* Called in the child; returns once, and again after each request. */
void mehari_rewind_begin(pTHX);
void mehari_rewind_end(pTHX) __attribute__((noreturn)); /* called after a request's response */
/* Reports the script's rung to the front, but not for every request. Called before DONE. */
void mehari_rewind_report(mehari_text file);
void mehari_rewind_report_refusal(mehari_text file, const char *why);
/* Returns why the child could not be rewound and ended. NULL: it did not end for this reason. */
const char *mehari_rewind_refusal(void);
/* Called in the template after its child's end: whether the memory that both share is as it was,
 * as far as no request may change it. */
bool mehari_rewind_is_sound(void);
bool mehari_rewind_has_rewound(void); /* whether the child has been rewound at least once */
bool mehari_rewind_was_refused(void); /* whether the next child cannot be rewound either */
/* Whether the kernel, or the container's rules, refused what every script would need. */
bool mehari_rewind_is_refused_here(void);
/* budget.c: true at the first call in any template of the zygote. */
bool mehari_pictures_say_refusal(void);
/* key.c: a protection key for memory that no script may write to. */
void mehari_key_take(void); /* called in the child before its first request; the key is then open */
void mehari_key_guard(void *at, size_t size); /* puts whole pages behind the key */
void mehari_key_open(void);
void mehari_key_close(void); /* called when the script begins to run */
/* Takes the base picture, once. Called in the process that forks templates, before it forks one
 * that may rewind. */
void mehari_rewind_prepare(pTHX_ bool where_room);
/* base.c: called after the fork in a process that takes no picture. */
void mehari_pictures_leave(void);
void mehari_pictures_guard(void); /* budget.c: puts the table of the pictures behind the key */
/* budget.c: in the zygote. */
void mehari_pictures_open(void); /* called before the zygote forks */
void mehari_pictures_release(pid_t owner); /* called after the template has ended */

#endif
