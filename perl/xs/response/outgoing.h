/* Shared by response.c, within.c and tap.c. */
#ifndef MEHARI_OUTGOING_H
#define MEHARI_OUTGOING_H
#include "response/response.h"

#define FLUSH_AT 65536u

typedef struct {
  char *buffer; /* what has been printed and not sent, a printed head first */
  size_t filled, capacity;
  size_t clean; /* of what is buffered behind the head: has been through the output filters */
  size_t body_bytes; /* sent */
  enum { HEAD_OPEN, HEAD_SENT, HEAD_REFUSED } phase;
} mehari_outgoing;
extern mehari_outgoing mehari_out;

void mehari_out_reserve(size_t more);
void mehari_out_take(const char *bytes, size_t length);
void mehari_out_drain(void); /* what children and C code wrote to descriptor 1 comes before what is buffered since */
void mehari_out_pass_on(void); /* sends what is buffered if the head is settled */
bool mehari_out_filter(bool is_last);
bool mehari_out_head_fits(void);
ssize_t mehari_out_settle(void); /* length of the printed head once it is complete and sound; -1 before */
void mehari_out_send_head(void);

/* within.c: a response within another, which gets its body. An error there is its status. */
bool mehari_out_is_within(void);
void mehari_out_fail_within(int status);

/* tap.c: sends the buffered output through the tap. */
void mehari_out_pour(void);

#endif
