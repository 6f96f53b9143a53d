/* Shared by response.c, within.c and tap.c. */
#ifndef MEHARI_OUTGOING_H
#define MEHARI_OUTGOING_H
#include "response/response.h"

#define FLUSH_AT 65536u

typedef struct {
  char *buffer; /* output that was printed and not sent; a printed head comes first */
  size_t filled, capacity;
  size_t passed; /* the bytes of the body up to the end of the last sub-request */
  size_t clean; /* how many of the buffered body's bytes have passed the output filters */
  size_t body_bytes; /* bytes of the body that were sent */
  mehari_pieces pieces; /* the pieces of the buffered body that has not passed the filters */
  enum { HEAD_OPEN, HEAD_SENT, HEAD_REFUSED } phase;
} mehari_outgoing;
extern mehari_outgoing mehari_out;

void mehari_out_reserve(size_t more);
void mehari_out_take(const char *bytes, size_t length);
/* Takes the output that children and C code have written to descriptor 1 into the buffer, so that
 * it precedes later output. */
void mehari_out_drain(void);
void mehari_out_pass_on(void); /* sends the buffered output if the head is final */
bool mehari_out_filter(mehari_part_of_body part);
bool mehari_out_head_fits(void);
/* Returns the length of the printed head once the head is complete and valid, before that -1. */
ssize_t mehari_out_settle(void);
void mehari_out_send_head(void);

/* within.c: a response within another response. The outer response gets the inner response's body.
 * An inner response that fails gives only its status. */
bool mehari_out_is_nested(void);
void mehari_out_fail_nested(int status);

/* tap.c: sends the buffered output through the tap. */
void mehari_out_write_to_tap(void);

#endif
