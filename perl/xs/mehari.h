/* What the files of the worker share. Each section names the file that owns it.
 *
 * One interpreter, one thread, one request at a time: the state of the request being served is
 * global on purpose. No Perl exception crosses a function declared here unless it says so.
 */
#ifndef MEHARI_H
#define MEHARI_H

#define PERL_NO_GET_CONTEXT
#include <EXTERN.h>
#include <perl.h>
#include <XSUB.h>
#include <perliol.h>
#include <stdbool.h>
#include "mailbox/wire.h"

#define MEHARI_RELEASE "0.1.0"

typedef struct {
  const char *at;
  STRLEN length;
} mehari_text;

#include "mailbox/bounds.h"
/* A script that gets a process for each request, or one that is as good. */
static inline bool mehari_task_is_program(uint8_t task) { return task == MEHARI_TASK_FORK || task == MEHARI_TASK_REWIND; }

/* interpreter/threads.c: a script's own threads. Each runs a copy of the interpreter, and none but the one that the server started
 * may touch the state of the worker. */
#ifdef MULTIPLICITY
extern PerlInterpreter *mehari_interpreter;
static inline bool mehari_in_thread(pTHX) { return aTHX != mehari_interpreter; }
#else
static inline bool mehari_in_thread(void) { return false; }
#endif
struct mehari_sub;
void mehari_threads_boot(pTHX);
void mehari_for_requests_only(const struct mehari_sub *subs, size_t count); /* they die in a thread */
bool mehari_threads_are_left(void); /* another thread than this one runs, and goes on running */

/* mailbox/mailbox.c: the request being served, and the ring its answer goes to. */
typedef struct {
  const mehari_request *frame;
  const char *base; /* of the frame's spans */
  const mehari_pair *fields, *variables;
  const char *body;
  size_t body_length;
  int body_file; /* -1: none */
} mehari_job;
extern mehari_job mehari_now;
extern bool mehari_serving;  /* between taking a request and its DONE */
extern bool mehari_in_child; /* a script forked and this is the child */

void mehari_mailbox_attach(int mailbox, int descriptors, int bell, int bell_event);
extern int mehari_front_socket; /* where the front hears of descriptors; of the worker, in its templates too */
bool mehari_mailbox_take(void);  /* true: mehari_now is set */
bool mehari_mailbox_wait(void);  /* until there may be work; false: the front is gone, or wants the worker to end */
void mehari_mailbox_done(uint16_t detail); /* MEHARI_DONE_* */
void mehari_mailbox_forget(void); /* the request's process has said it is done */
void mehari_mailbox_state(uint32_t state);
/* In a process forked by the worker: the request to serve, and its body once it is the one that serves. */
void mehari_mailbox_adopt(const mehari_request *frame, int body_file);
int mehari_mailbox_file(void);
_Atomic uint32_t *mehari_mailbox_child(void); /* the process that serves on the rung `fork` */
uint32_t mehari_mailbox_offset(const mehari_request *frame);
const mehari_request *mehari_mailbox_frame(uint32_t offset);
void mehari_mailbox_map_body(void);
/* 0: nothing sent; 1: the head is, or the tap is open; 2: the response is complete. */
_Atomic uint32_t *mehari_mailbox_progress(void);
/* The text of a span; one that is not within the frame is empty. In every request's way, many times. */
static inline mehari_text mehari_job_text(const mehari_job *job, mehari_span span)
{
  uint32_t length = job->frame->length;
  if (span.offset > length || span.length > length - span.offset)
    return (mehari_text){"", 0};
  return (mehari_text){job->base + span.offset, span.length};
}
static inline mehari_text mehari_span_text(mehari_span span) { return mehari_job_text(&mehari_now, span); }
static inline mehari_text mehari_request_text(int which) { return mehari_span_text(mehari_now.frame->text[which]); }
/* What the front answered in place of this process, of which it was told to hear (MEHARI_PASS_LISTENS) when the front had
 * given `before` answers; false: it does not know. The head lasts until the next question. */
typedef struct {
  int status;
  uint64_t bytes;
  mehari_text head;
} mehari_told;
uint32_t mehari_answers(void); /* that the front has ever given */
bool mehari_hear(uint32_t before, mehari_told *told);
/* Asks the front and waits; NULL: it has no answer. The frame lasts until the next question. */
const mehari_request *mehari_ask(uint16_t server, const mehari_text *parts, int count);
/* Blocks while the ring is full. `parts` are joined into one record. */
void mehari_ring_put(uint16_t kind, uint16_t detail, const mehari_text *parts, int count);
void mehari_ring_publish(void);
void mehari_log(int level, const char *text, STRLEN length);
void mehari_logf(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* response/head.c: header blocks. */
typedef struct {
  int status; /* 0: not given */
  char *lines; /* `Name: value\r\n` each */
  STRLEN length, capacity;
  bool refused; /* a line that must not be sent; already logged */
} mehari_head;
void mehari_head_clear(mehari_head *head);
/* Drops the lines of that name. */
void mehari_head_replace(mehari_head *head, const char *name, STRLEN length);
bool mehari_head_add(mehari_head *head, const char *name, STRLEN name_length, const char *value, STRLEN value_length);
/* Length of the header block with its blank line at the start of `text`, or 0 when it is not complete. */
STRLEN mehari_head_measure(const char *text, STRLEN length);
/* Reads a script's header block. False: it is none; a log line says why. */
bool mehari_head_parse(mehari_head *head, const char *text, STRLEN length);

#include "response/response.h"
#include "stdio/standard.h"

/* interpreter/hooks.c: the operators replaced, before any other code is compiled. */
void mehari_hooks_install(pTHX);
extern bool mehari_directory_changed, mehari_umask_changed, mehari_exit_called;
extern bool mehari_child_has_own_stdout; /* of the child that the operator under way starts */

/* process/watch.c: what a script changes of its process. */
enum {
  MEHARI_TOUCHED_DESCRIPTORS = 1,
  MEHARI_TOUCHED_MASK = 2,
  MEHARI_TOUCHED_TIMERS = 4,
  MEHARI_TOUCHED_LIMITS = 8,
  MEHARI_TOUCHED_PROCESS = 16,
  MEHARI_TOUCHED_THREADS = 32
};
extern unsigned mehari_touched; /* by the request being served */
void mehari_watch_open(void); /* once a worker */
void mehari_watch_loaded(pTHX);
void mehari_watch_put_back(void);
void mehari_descriptor_claim(int file); /* one of our own: no script can close it by its number */
void mehari_descriptor_release(int file);
bool mehari_descriptor_is_own(int file);

/* environment/environment.c: %ENV. */
void mehari_environment_open(pTHX);
void mehari_environment_begin(pTHX);
void mehari_environment_reserve(pTHX); /* places for what every request and most browsers set */
void mehari_environment_set(pTHX_ mehari_text name, mehari_text value); /* one variable more of this request */
void mehari_environment_forget(pTHX); /* before a request that gets none */
void mehari_environment_of_process(pTHX); /* before a PSGI application's */
/* The variable a header field becomes and its hash (0: not known); NULL for a name too long to be one. */
SV *mehari_environment_key(pTHX_ const char *name, STRLEN length, U32 *hash);
void mehari_environment_export(pTHX); /* to `environ`, for the child process about to start */
void mehari_environment_restore(void);

/* interpreter/guard.c: running Perl so that nothing it does leaves this process. */
typedef enum { MEHARI_RAN, MEHARI_DIED, MEHARI_EXITED } mehari_outcome;
typedef void (*mehari_body)(pTHX_ void *argument);
/* Runs `body` under a jump level of its own. MEHARI_DIED only when the body leaves $@ to the top. */
mehari_outcome mehari_guard(pTHX_ mehari_body body, void *argument, int *exit_status);
mehari_outcome mehari_call_list(pTHX_ AV *subs); /* END blocks */
void mehari_log_exception(pTHX_ const char *where);
void mehari_child_leave(pTHX_ int status) __attribute__((noreturn));

/* script/script.c: compiled scripts. */
typedef struct {
  CV *inner;
  PADOFFSET inner_slot;
  CV *outer;
  PADOFFSET outer_slot;
} mehari_rebind;
/* script/signals.c: $SIG{__DIE__} and $SIG{__WARN__}, copies; NULL: none. */
typedef struct {
  SV *die, *warn;
} mehari_hooks;
bool mehari_is_same_handler(SV *now, SV *before);
void mehari_hooks_see(pTHX_ mehari_hooks *hooks); /* as they are now */
void mehari_hooks_keep(pTHX_ mehari_hooks *hooks, mehari_hooks *before); /* those that changed since; frees `before` */
void mehari_hooks_put(pTHX_ const mehari_hooks *hooks);
void mehari_hooks_free(pTHX_ mehari_hooks *hooks);

/* script/files.c: files that code is made from. */
uint64_t mehari_mark(const struct stat *seen);
/* The front has seen this file of the request as it was under this mark, and nothing has happened to it since. */
bool mehari_front_saw(mehari_text file, uint64_t mark);

typedef struct mehari_script {
  char *file;
  uint64_t made_from; /* the file's mark */
  unsigned mark; /* bytes of a byte order mark before its text */
  CV *code;
  HV *stash;
  AV *ends;
  bool has_data;
  Off_t data_offset;
  SV *data;
  GV *data_handle;
  mehari_hooks hooks; /* that its compilation set */
  bool warnings;  /* #! -w */
  bool ends_lines; /* #! -l */
  char *own_perl; /* the switches of a #! line that only a perl of its own can follow */
  bool printed;  /* compiling it printed, or looked at the world */
  mehari_rebind *rebinds;
  int rebind_count;
} mehari_script;
typedef enum { MEHARI_AS_REGISTRY, MEHARI_AS_PERLRUN, MEHARI_AS_PROGRAM } mehari_manner;
/* NULL: `status` says what to answer (403, 404, 500) and the log why; 0: what it printed, for it ended by itself. */
mehari_script *mehari_script_compile(pTHX_ const char *file, mehari_manner manner, int *status);
void mehari_script_free(pTHX_ mehari_script *script);
bool mehari_script_unchanged(const mehari_script *script, mehari_text file, int *status);
void mehari_script_open_data(pTHX_ mehari_script *script);
void mehari_script_hooks(pTHX);
void mehari_script_top_level(pTHX);

/* script/captures.c */
void mehari_script_find_captures(pTHX_ mehari_script *script);
void mehari_script_rebind(pTHX_ mehari_script *script);

/* script/cgi_globals.c, script/cgi_params.c: CGI.pm */
void mehari_forget_cgi(pTHX);
void mehari_cgi_loaded(pTHX); /* looks whether it is there, and new */
void mehari_cgi_outside_mod_perl(pTHX);
void mehari_cgi_params_boot(pTHX);

/* script/purity.c: what a compilation did besides defining things. */
void mehari_purity_begin(void);
void mehari_purity_judge(pTHX_ const char *word, STRLEN length);
bool mehari_purity_holds(void);
bool mehari_purity_of_modules(pTHX); /* all that is loaded is perl's own, or was before */
void mehari_purity_try(void); /* from here on what is impure ends this process before it happens */

/* The rungs: each serves mehari_now and leaves a response. */
void mehari_registry_serve(pTHX);
void mehari_registry_preload(pTHX_ const char *file);
void mehari_perlrun_serve(pTHX);
/* How far the process of a request on the rung `fork` came: MEHARI_FORK_DONE, it put the request's DONE itself. */
typedef enum { MEHARI_FORK_NOT_BEGUN, MEHARI_FORK_SERVED, MEHARI_FORK_DONE } mehari_forked;
mehari_forked mehari_fork_serve(bool to_its_end); /* NOT_BEGUN: no process could be had */
void mehari_psgi_boot(pTHX);
void mehari_psgi_open(pTHX);
void mehari_psgi_serve(pTHX);
int mehari_psgi_within(pTHX); /* a sub-request's; the status that the application gave, 0: none */
extern bool mehari_retire; /* the worker wants to be replaced after this request */
extern bool mehari_is_program; /* this process runs a script as perl itself would */
void mehari_end_program(pTHX_ void *argument);
/* The end of a program took its handles with it. */
static inline bool mehari_perl_has_ended(pTHX) { return !PL_perlio; }
/* The folder of `file`; NULL: the one the server was started in. */
void mehari_enter_directory(const char *file);
void mehari_set_program_name(pTHX_ const char *file);

/* interpreter/stack.c: the Perl stack of a worker that ran too long. */
void mehari_stack_watch(pTHX);
extern volatile bool mehari_running_perl;

/* phases/settings.c: what the configuration tells Perl of a location or a server. */
enum {
  MEHARI_PHASE_POST_READ_REQUEST, MEHARI_PHASE_TRANS, MEHARI_PHASE_MAP_TO_STORAGE, MEHARI_PHASE_HEADER_PARSER, MEHARI_PHASE_ACCESS,
  MEHARI_PHASE_AUTHEN, MEHARI_PHASE_AUTHZ, MEHARI_PHASE_TYPE, MEHARI_PHASE_FIXUP, MEHARI_PHASE_INPUT_FILTER, MEHARI_PHASE_OUTPUT_FILTER,
  MEHARI_PHASE_RESPONSE, MEHARI_PHASE_LOG, MEHARI_PHASE_CLEANUP,
  MEHARI_PHASE_PRE_CONNECTION, MEHARI_PHASE_PROCESS_CONNECTION, MEHARI_PHASE_CHILD_INIT, MEHARI_PHASE_CHILD_EXIT, MEHARI_PHASE_OPEN_LOGS,
  MEHARI_PHASE_POST_CONFIG, MEHARI_PHASE_COUNT
};
typedef struct {
  const char *name; /* of its directive; what ModPerl::Util::current_callback answers */
  bool runs_all;    /* until one answers neither OK nor DECLINED; else until one does not decline */
} mehari_phase_row;
extern const mehari_phase_row mehari_phases[MEHARI_PHASE_COUNT];
int mehari_phase_named(const char *name, STRLEN length); /* -1: there is none */

/* `PerlOptions` of a location; server/config/src/phase.rs has the same. */
enum { MEHARI_OPTION_PARSE_HEADERS = 1, MEHARI_OPTION_SETUP_ENV = 2, MEHARI_OPTION_GLOBAL_REQUEST = 4, MEHARI_OPTION_MERGE_HANDLERS = 8 };

typedef struct {
  uint32_t id;
  AV *handlers[MEHARI_PHASE_COUNT]; /* names as configured; NULL: none */
  AV *variables;                    /* PerlSetVar, PerlAddVar: name, value, name, value ... ; NULL: none */
  AV *containers;                   /* of custom directives, the outermost first: number, line of a .htaccess or "", number ...; NULL: none */
  HV *texts;                        /* "location" and the like; NULL: none */
  HV *documents;                    /* ErrorDocument: status => path of this server; NULL: none */
  U8 options_on, options_off;
  bool is_changed[MEHARI_PHASE_COUNT]; /* of a server: handlers are not as configured any more */
  bool runs_phases; /* handlers of other phases than the response */
} mehari_settings;
mehari_settings *mehari_settings_parse(pTHX_ uint32_t id, mehari_text text);
const mehari_settings *mehari_settings_find(pTHX_ uint32_t id, mehari_text text); /* NULL: an empty text */
/* The servers of the configuration by number, 0 the main one: known before anything is preloaded. `$s->push_handlers`
 * may change their handlers while the server starts. */
void mehari_server_told(pTHX_ uint32_t number, mehari_text text);
uint32_t mehari_server_count(void);
mehari_settings *mehari_server(uint32_t number); /* NULL: there is none */
SV *mehari_settings_text(pTHX_ const mehari_settings *settings, const char *name); /* NULL: not said */

#include "request/record.h"

/* phases/handlers.c, phases/phases.c, phases/redirects.c, phases/subrequests.c, phases/server.c: Perl's handlers in Apache's order, within one dispatch. */
extern const char *mehari_phase_now; /* the directive of the handler that runs; NULL: none does */
bool mehari_phases_serve(pTHX); /* false: not begun */
/* Sub-requests and internal redirects. A sub-request comes through its phases up to the response when it is made. */
mehari_rec *mehari_rec_sub(pTHX_ mehari_rec *main, mehari_text target, const mehari_text *file, mehari_text method); /* NULL: refused by the front */
int mehari_rec_run(pTHX_ mehari_rec *sub); /* its body follows what was printed; OK or a status */
void mehari_rec_redirect(pTHX_ mehari_rec *rec, mehari_text target, int status); /* another answers; status: why, 0 for no error */
SV *mehari_handler_code(pTHX_ SV *handler); /* what a handler's name stands for; the name when that is not to be found */
void mehari_rec_fail(pTHX_ int status); /* the current request answers this status instead of what was printed */
int mehari_run_phase(pTHX_ mehari_rec *rec, int phase); /* what the last handler answered: OK 0, DECLINED -1, DONE -2, a status */
SV *mehari_rec_connection(pTHX_ mehari_rec *rec); /* its `$r->connection`; belongs to the record */
/* Runs the handlers of every server; NULL, or why one of them objects. */
const char *mehari_run_server_phase(pTHX_ int phase);

/* script/program.c: a script run as perl itself would run it, once, in a process of its own. */
void mehari_program_run(pTHX_ mehari_script *script, const char *file) __attribute__((noreturn));

/* script/program_within.c: 0, or a status. Of the current sub-request, whose environment is in %ENV. */
int mehari_program_within(pTHX_ const char *file);

/* process/pages.c: the zygote's memory in large pages. */
void mehari_pages_align(void);   /* before anything is loaded */
void mehari_pages_enlarge(void); /* once everything is */

/* interpreter/destructors.c: whether perl's own end is due. */
void mehari_destructors_note(pTHX); /* what is there before the program is not its own */
bool mehari_destructors_due(pTHX);

/* process/fork.c, process/template.c: a worker asks the zygote for a template, and gives it orders. */
typedef struct {
  uint32_t frame; /* offset in the mailbox */
  bool has_body_file;
  bool to_its_end; /* nobody else has anything to do for the request: the child puts its DONE */
} mehari_order;
typedef struct {
  uint64_t request;
  pid_t child;
  int32_t status; /* as waitpid gives it */
  bool done;      /* the request's DONE is out */
} mehari_ending;
typedef struct {
  pid_t worker;
  int32_t to_rewind;
} mehari_wanted; /* a template; the script's file follows */
extern int mehari_stem_socket; /* to the zygote */
#define MEHARI_TEMPLATE_FILES 3 /* the mailbox, the socket of its orders, the worker's socket to the front */
/* `to_rewind`: its child serves one request after the other, where that can be. */
void mehari_template_run(pTHX_ const char *file, bool to_rewind, const int files[MEHARI_TEMPLATE_FILES], int bell, int bell_event) __attribute__((noreturn));
void mehari_template_child_leaves(pTHX) __attribute__((noreturn)); /* the request's process has answered */
void mehari_template_child_forked(void); /* in a process of the script's: the worker waits for us, not for it */
/* rewind/rewind.c: a template's child that serves one request after the other. */
const char *mehari_rewind_open(pTHX); /* in the template, with all compiled; NULL, or why it cannot be */
void mehari_rewind_begin(pTHX);       /* in the child: comes back once, and then after each request */
void mehari_rewind_end(pTHX) __attribute__((noreturn)); /* after a request's answer */
void mehari_rewind_tell(mehari_text file); /* the front, now and then, before a request's DONE */
void mehari_rewind_tell_refusal(mehari_text file, const char *why);
const char *mehari_rewind_spoiled(void); /* why the child ended; NULL: it did not do so for a rewind's sake */
bool mehari_rewind_was_of_use(void);     /* it has been rewound at least once */
bool mehari_rewind_was_refused(void);    /* nor can the next one be */
void mehari_fork_forward(int signal); /* from the stack's signal handler */
/* process/worker.c: the layers, %ENV and signals of a process that serves. */
void mehari_process_open(pTHX_ const char *name, int mailbox, int descriptors, int bell, int bell_event);

/* process/zygote.c */
void mehari_zygote_run(pTHX_ int control, int bell, int bell_event) __attribute__((noreturn));
void mehari_worker_run(pTHX_ int mailbox, int descriptors, int bell, int bell_event) __attribute__((noreturn));

#endif
