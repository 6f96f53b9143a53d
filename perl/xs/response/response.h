/* The response of the current request. */
#ifndef MEHARI_RESPONSE_H
#define MEHARI_RESPONSE_H

#include "response/head.h"

extern mehari_head mehari_response;
extern bool mehari_stdout_aside;  /* what is printed is no part of the response, but for the log */
extern bool mehari_output_gathers; /* the body goes through filters before it is sent */
extern bool mehari_parse_headers; /* what is printed starts with the header block */
void mehari_output_open(pTHX);    /* once a worker */
void mehari_output_begin(pTHX);   /* each request */
void mehari_output_write(const char *bytes, size_t length);
void mehari_output_flush(void);   /* to the client, if the head is complete */
void mehari_output_share(pTHX);   /* somebody else is about to write on descriptor 1 */
void mehari_output_spill(void);   /* to descriptor 1, which is shared */
void mehari_output_detach(void);  /* children that live on are not waited for */
bool mehari_output_is_complete(void); /* the response is: nothing more can be added */
/* A response within the response: its body is sent in the outer one, its head is dropped. */
void mehari_output_enter(pTHX_ bool parse_headers);
struct mehari_rec;
int mehari_output_leave(pTHX_ struct mehari_rec *sub); /* 0, or the status it ended with */
bool mehari_output_sent(void);    /* the head is on its way: the status is settled */
size_t mehari_output_bytes(void);
bool mehari_output_has_body(pTHX); /* something of the body was printed */
void mehari_output_discard(void); /* what is buffered and not sent */
void mehari_output_end(pTHX);     /* completes the response */
/* The front responds: see MEHARI_RECORD_PASS. */
void mehari_output_pass(int status, const char *parts, size_t length);
void mehari_output_error(int status); /* an empty response of this status, or a broken end when the head is sent */
void mehari_output_reset_handles(pTHX); /* layers, flags, selected handle: as at the start */
void mehari_output_fresh_descriptor(void);
extern bool mehari_may_have_spawned;
/* Called when the head is about to be settled and was not printed: fills mehari_response. */
extern void (*mehari_output_fill_head)(pTHX);

#endif
