/* The response of the current request. */
#ifndef MEHARI_RESPONSE_H
#define MEHARI_RESPONSE_H

#include "response/head.h"

extern mehari_head mehari_response;
extern bool mehari_stdout_aside; /* printed output goes to the log and not to the response */
extern bool mehari_output_gathers; /* the body passes filters before it is sent */
extern bool mehari_parse_headers; /* printed output starts with the header block */
void mehari_output_open(pTHX); /* called once per worker */
/* Called before a template's picture: allocates new buffers. The old ones stay allocated. */
void mehari_output_move(void);
void mehari_output_begin(pTHX); /* called for each request */
void mehari_output_write(const char *bytes, size_t length);
/* Whether so many more bytes would exceed mod_perl's buffer although the client has left. Under
 * Apache this is the moment at which a script learns that its client has left. */
bool mehari_output_is_lost(size_t length);
bool mehari_output_waits(void); /* whether the buffer holds output */
void mehari_output_flush(void); /* sends output to the client, if the head is complete */
void mehari_output_share(pTHX); /* called before another process writes to descriptor 1 */
void mehari_output_spill(void); /* writes output to descriptor 1, which is shared */
void mehari_output_detach(void); /* children that outlive the script are not awaited */
bool mehari_output_is_complete(void); /* whether nothing can be added to the response */
/* Begins a response within the response. Its body becomes part of the outer response, and its head
 * is dropped. */
void mehari_output_enter(pTHX_ bool parse_headers);
struct mehari_rec;
/* Ends the response within the response. Returns 0, or the status with which the inner response
 * ended. */
int mehari_output_leave(pTHX_ struct mehari_rec *sub);
bool mehari_output_sent(void); /* whether the head was sent, so that the status is final */
/* The pieces in which mod_perl's buffer would pass a body to output filters: the places at which
 * each piece but the first begins. Everything after the last place is one piece. */
enum { MEHARI_BUFFER = 8192, MOST_PIECES = 64 };
typedef struct {
  int count;
  size_t at[MOST_PIECES];
} mehari_pieces;
typedef enum { MEHARI_PART_MORE, MEHARI_PART_FLUSHED, MEHARI_PART_LAST } mehari_part_of_body;
size_t mehari_output_bytes(void);
size_t mehari_output_bytes_sent(void); /* without bytes that wait to be flushed */
bool mehari_output_has_body(pTHX); /* whether a part of the body was printed */
void mehari_output_discard(void); /* drops buffered output that was not sent */
/* Does the same, but keeps the output of sub-requests, which mod_perl sends at their ends. */
void mehari_output_discard_own(void);
void mehari_output_end(pTHX);     /* completes the response */
/* Lets the front respond (MEHARI_RECORD_PASS). */
void mehari_output_pass(int status, const char *parts, size_t length);
/* Completes the response without output, because the front has sent its own response. */
void mehari_output_leave_to_front(void);
/* Ends with an empty response with this status. If the head was sent, marks the end as broken. */
void mehari_output_error(int status);
/* Resets layers, flags and the selected handle to their state at the start. */
void mehari_output_reset_handles(pTHX);
void mehari_output_fresh_descriptor(void);
extern bool mehari_may_have_spawned;
/* The function that fills mehari_response when the head becomes final and was not printed. */
extern void (*mehari_output_fill_head)(pTHX);

#endif
