/* The warm-up of the zygote, and the stem: the process that forks templates after a warm-up. */
#ifndef MEHARI_WARMUP_H
#define MEHARI_WARMUP_H

#include "process/zygote.h"

/* Serves the requests that the front puts into the mailbox. Returns when the front says so. */
void mehari_warmup_run(pTHX_ int mailbox, int descriptors, int bell, int bell_event);
/* Forks the stem. Returns true in the stem. The stem ends with the zygote. */
bool mehari_stem_fork(void);
bool mehari_stem_exists(void);
/* Lets the stem explain a script. */
void mehari_stem_ask(const char *file, uint32_t question);
/* Called after the end of a child process of the zygote. Does not return if it was the stem. */
void mehari_stem_ended(pid_t process);

#endif
