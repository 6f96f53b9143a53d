/* A template's child that serves one request after the other. */
#ifndef MEHARI_REWIND_H
#define MEHARI_REWIND_H

#include "mehari.h"

/* In the template, with all compiled; NULL, or why it cannot be. `where_room`: not if the pictures fill their memory. */
const char *mehari_rewind_open(pTHX_ bool where_room);
void mehari_rewind_begin(pTHX);       /* in the child: comes back once, and then after each request */
void mehari_rewind_end(pTHX) __attribute__((noreturn)); /* after a request's answer */
void mehari_rewind_tell(mehari_text file); /* the front, now and then, before a request's DONE */
void mehari_rewind_tell_refusal(mehari_text file, const char *why);
const char *mehari_rewind_spoiled(void); /* why the child ended; NULL: it did not do so for a rewind's sake */
bool mehari_rewind_was_of_use(void);     /* it has been rewound at least once */
bool mehari_rewind_was_refused(void);    /* nor can the next one be */
/* budget.c: in the zygote. */
void mehari_pictures_open(void); /* before it forks */
void mehari_pictures_leave(pid_t template); /* which has ended */

#endif
