/* The processes of a site: zygote, worker, template. */
#ifndef MEHARI_PROCESS_H
#define MEHARI_PROCESS_H

#include "mehari.h"
#include "mailbox/mailbox.h"

/* zygote.c, worker.c: what each process does. */
void mehari_zygote_run(pTHX_ int control, int bell, int bell_event) __attribute__((noreturn));
void mehari_worker_run(pTHX_ int mailbox, int descriptors, int bell, int bell_event) __attribute__((noreturn));
extern bool mehari_retire; /* whether the worker wants to end after this request */
extern bool mehari_replace; /* whether the worker wants to end when its successor is ready */
/* Prepares a process that serves whole requests. A second call has no effect. */
void mehari_worker_prepare(pTHX);
/* Does the same, and runs PerlChildInitHandler. */
void mehari_worker_open(pTHX);
/* Serves requests until the front says that the process must end. */
void mehari_worker_serve(pTHX);
/* Serves the current request in a template's child, which restores nothing itself. */
void mehari_worker_serve_once(pTHX) __attribute__((noreturn));
/* Ends such a process: runs PerlChildExitHandler, then the END blocks of modules. */
void mehari_worker_leave(pTHX) __attribute__((noreturn));
/* Prepares the layers, %ENV and signals of a process that serves requests. */
void mehari_process_open(pTHX_ const char *name, int mailbox, int descriptors, int bell, int bell_event);

/* fork.c: the rung `fork`, seen from the worker. */
/* The result of serving a request on the rung `fork`. MEHARI_FORK_DONE: the process that served the
 * request has also sent its DONE. */
typedef enum { MEHARI_FORK_NOT_BEGUN, MEHARI_FORK_SERVED, MEHARI_FORK_DONE } mehari_forked;
mehari_forked mehari_fork_serve(bool to_its_end); /* NOT_BEGUN: no process is available */
void mehari_fork_forward(int signal); /* called by the signal handler of stack.c */

/* fork.c, template.c: a worker asks the zygote for a template, and sends it orders. */
typedef struct {
  uint64_t number;
  uint32_t frame; /* the frame's offset in the mailbox */
  bool has_body_file;
  bool carries_frame; /* the frame is in a file, because handlers have changed the request */
  bool to_its_end; /* the worker has no more work for the request, so the child sends DONE */
  mehari_taken taken; /* the child may keep the mailbox for the script's next requests */
} mehari_order;
typedef struct {
  uint64_t order;
  pid_t child;
  int32_t status; /* as waitpid gives it */
  bool was_lent; /* the child had the mailbox, so `taken` holds */
  mehari_taken taken;
} mehari_ending; /* the mailbox tells how far the request that was taken last has come */
enum {
  MEHARI_TO_FORK,
  MEHARI_TO_REWIND, /* its child serves one request after another, if possible */
  MEHARI_TO_REWIND_WHERE_ROOM, /* the rung `auto`: only while there is room for its picture */
  MEHARI_TO_SERVE, /* the child serves whole requests of a handler or an application, and is rewound */
  MEHARI_TO_EXPLAIN /* no template: the zygote asks the stem to explain the script; `mark`: the question */
};
typedef struct {
  pid_t worker;
  int32_t manner; /* MEHARI_TO_* */
  uint64_t mark; /* the mark of the script's file; 0: not a script */
} mehari_wanted; /* asks the zygote for a template; the text of the task follows */
int mehari_fork_manner(const mehari_request *frame); /* MEHARI_TO_* */
extern int mehari_stem_socket; /* the socket to the zygote */
/* A template's descriptors: the mailbox, the socket for orders, the worker's socket to the
 * front. */
#define MEHARI_TEMPLATE_FILES 3
/* Sends a wish to the process that forks templates. */
bool mehari_stem_send(mehari_wanted wanted, const char *file, const int files[MEHARI_TEMPLATE_FILES]);
void mehari_template_run(pTHX_ const char *what, const mehari_wanted *wanted, const int files[MEHARI_TEMPLATE_FILES], int bell, int bell_event) __attribute__((noreturn));
extern bool mehari_is_template_child; /* from its first request on */
/* Called in the child after the response: ends the child, or rewinds it. `detail`: that of DONE. */
void mehari_template_child_leaves(pTHX_ uint16_t detail) __attribute__((noreturn));
/* Called in a process that the script forked: the worker does not wait for that process. */
void mehari_template_child_forked(void);

/* compilation.c: compiles a script in a process that has run nothing else. NULL: compiling the
 * script fails or has effects, so each request compiles it. Shared memory at `effect` gets the line
 * of the first effect, or 0 if the line is unknown. */
struct mehari_script *mehari_compilation_open(pTHX_ const char *file, uint32_t *effect);

/* learning.c: the modules that a script's requests load again and again. */
void mehari_learning_open(pTHX_ const char *script); /* loads those that are known; in the template */
void mehari_learning_report(pTHX_ const char *script); /* in its child, before a request ends */

/* explanation.c, called in the zygote. A new process reports in EXPLAINED messages what a template
 * would find out about a script. After that process's end the zygote sends the last message. */
void mehari_explanation_fork(pTHX_ const char *file, uint32_t number, const int *files, int count);
void mehari_explanation_ended(pid_t process, int status);
extern bool mehari_is_warming; /* warmup.c: whether the zygote itself serves requests */
/* control.c */
void mehari_zygote_report(const mehari_control *head, const char *text);

/* inspection.c: forks a twin of this process, which answers a question about the interpreter. */
void mehari_inspection_serve(pTHX); /* in a worker, between two requests */
void mehari_inspection_fork(pTHX_ const char *order); /* in the zygote */
void mehari_inspection_boot(pTHX);

/* watch.c: detects and undoes a script's changes of its process. */
enum {
  MEHARI_TOUCHED_DESCRIPTORS = 1,
  MEHARI_TOUCHED_MASK = 2,
  MEHARI_TOUCHED_TIMERS = 4,
  MEHARI_TOUCHED_LIMITS = 8,
  MEHARI_TOUCHED_PROCESS = 16,
  MEHARI_TOUCHED_THREADS = 32,
  MEHARI_TOUCHED_KERNEL = 128, /* has state that the kernel gives up only at the process's end */
  MEHARI_TOUCHED_FLAGS = 256, /* of open files */
  MEHARI_TOUCHED_FILES = 64 /* has opened, closed or replaced descriptors aside of perl's handles */
};
extern unsigned mehari_touched; /* what the current request has changed */
void mehari_watch_open(void); /* called once per worker */
void mehari_watch_loaded(pTHX);
void mehari_watch_put_back(void);
void mehari_watch_put_back_flags(void); /* of the descriptors of the standard handles */
/* Marks a descriptor as the server's own, so that no script can close it by its number. */
void mehari_descriptor_claim(int file);
void mehari_descriptor_release(int file);
/* Closes the server's sockets and the listed descriptors, in a child process of a script. */
void mehari_descriptors_leave(const int *files, size_t count);
/* Forks a process of the server's own. It keeps the mailbox, unlike a child of a script. */
pid_t mehari_fork_own(void);
bool mehari_descriptor_is_own(int file);

/* pages.c: puts the zygote's memory into large pages. */
void mehari_pages_align(void); /* called before the first module is loaded */
void mehari_pages_enlarge(void); /* called after the last module is loaded */

/* zygote.c: returns what the front has told the zygote about the server. */
SV *mehari_fact(pTHX_ const char *name);

#endif
