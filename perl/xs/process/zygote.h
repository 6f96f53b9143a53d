/* The declarations that the files of the zygote share. */
#ifndef MEHARI_ZYGOTE_H
#define MEHARI_ZYGOTE_H

#include "process/process.h"

/* control.c: the control socket. */
typedef struct {
  mehari_control head;
  char text[MEHARI_CONTROL_TEXT + 1];
  int files[2];
  size_t file_count;
} mehari_message;
extern int mehari_control_socket;
bool mehari_message_receive(mehari_message *in); /* false: the front has ended */
/* Collects the parts of a long text. Returns the text when the last part has arrived, until then
 * NULL. */
SV *mehari_message_gather(pTHX_ mehari_message *in);

/* loading.c: what the zygote loads before it forks. Each function handles one kind of message from
 * the front. */
void mehari_loading_preload(pTHX_ mehari_message *in);
void mehari_loading_server(pTHX_ mehari_message *in);
void mehari_loading_tree(pTHX_ mehari_message *in);
/* Called after everything has loaded. `may_refuse`: the last handlers of the start run and may
 * still refuse. */
void mehari_loading_finish(pTHX_ bool may_refuse);
/* Reports what the zygote should not have when it forks. */
typedef struct { const int *files; int count; } mehari_own_files; /* descriptors of the server */
void mehari_loading_lint(pTHX_ const mehari_own_files *own);

/* children.c: the workers that the zygote has forked. */
void mehari_children_remember(pid_t worker);
void mehari_children_reap(void);
void mehari_children_kill(void);

#endif
