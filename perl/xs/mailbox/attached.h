/* The memory of the mailbox, for the files of this folder. */
#ifndef MEHARI_ATTACHED_H
#define MEHARI_ATTACHED_H

#include "mailbox/mailbox.h"

/* mailbox.c */
typedef struct {
  mehari_mailbox *box;
  mehari_bell *bell;
  char *ring;
  int bell_event;
} mehari_attached;
extern mehari_attached mehari_mailbox_memory;
#define mehari_box mehari_mailbox_memory.box

/* request.c: receives the body file of a request. -1: the front has gone. */
int mehari_body_receive(uint64_t id);
/* Whether a frame has at most this many bytes, and every part of the frame lies within it. */
bool mehari_frame_is_sound(const mehari_request *frame, uint32_t most);

/* ring.c: waits until the word changes from `value`, at most five seconds. */
void mehari_futex_wait(_Atomic uint32_t *word, uint32_t value);
bool mehari_front_is_gone(void);

#endif
