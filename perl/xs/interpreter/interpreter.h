/* The interpreter: running Perl code, the replaced operators, threads, and the interpreter's
 * end. */
#ifndef MEHARI_INTERPRETER_H
#define MEHARI_INTERPRETER_H

#include "mehari.h"

/* guard.c: runs Perl code so that neither `die` nor `exit` ends this process. */
typedef enum { MEHARI_RAN, MEHARI_DIED, MEHARI_EXITED } mehari_outcome;
typedef void (*mehari_body)(pTHX_ void *argument);
/* Runs `body` under its own jump level. The result is MEHARI_DIED only if no `eval` caught the
 * error. */
mehari_outcome mehari_guard(pTHX_ mehari_body body, void *argument, int *exit_status);
/* Calls a sub of Mehari's modules for a truth value. If the sub dies, the result is false. */
bool mehari_ask_perl(pTHX_ const char *sub, SV *argument);
mehari_outcome mehari_call_list(pTHX_ AV *subs); /* runs END blocks */
void mehari_log_exception(pTHX_ const char *where);
void mehari_child_leave(pTHX_ int status) __attribute__((noreturn));

/* operators.c: replaces operators before any other code is compiled. */
void mehari_operators_install(pTHX);
extern bool mehari_directory_changed, mehari_umask_changed, mehari_exit_called;
extern bool mehari_is_replaced; /* whether a program has taken the place of the script (exec) */
/* Whether the child that the current operator starts has its own descriptor 1. */
extern bool mehari_child_has_own_stdout;

/* threads.c: a script's threads. Each runs a copy of the interpreter. Only the thread that the
 * server started may use the worker's state. */
#ifdef MULTIPLICITY
extern PerlInterpreter *mehari_interpreter;
static inline bool mehari_in_thread(pTHX) { return aTHX != mehari_interpreter; }
#else
static inline bool mehari_in_thread(void) { return false; }
#endif
struct mehari_sub; /* api/api.h */
void mehari_threads_boot(pTHX);
/* Makes these subs die when a thread of a script calls them. */
void mehari_forbid_in_threads(const struct mehari_sub *subs, size_t count);
bool mehari_threads_are_left(void); /* whether another thread runs and will go on running */

/* stack.c: writes the Perl stack of a worker that ran too long. */
void mehari_stack_watch(pTHX);
extern volatile bool mehari_running_perl;

/* load_times.c: how long each file took to load. */
void mehari_load_begun(pTHX_ I32 depth, uint64_t begun); /* depth: of perl's contexts, before */
void mehari_load_ended(pTHX); /* before perl leaves the file */
uint64_t mehari_load_clock(void);

/* sizes.c: what code and values take. For twins only. */
void mehari_sizes_boot(pTHX);

/* destructors.c: whether perl must destroy its objects. */
/* Notes the objects that exist before the program runs, because these are not the program's. */
void mehari_destructors_note(pTHX);
/* Notes the names that the server has added to classes without destructors since then. Otherwise
 * each request would search these classes for new ones. */
void mehari_destructors_note_names(pTHX);
bool mehari_destructors_due(pTHX);
/* Calls the destructors of all objects that are not noted. Then the process ends or is rewound, so
 * the objects stay as they are. */
void mehari_destructors_run(pTHX);

#endif
