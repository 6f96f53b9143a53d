/* The mailbox as the worker sees it: the declarations of server/wire in C. A test compares both.
 *
 * The mailbox is one shared memory file per worker: a page of state words, request slots that the
 * front writes, and a ring of response records that the worker writes. Offsets are bytes from the
 * start of the file. Integers are native. Front and worker each check every length that they read,
 * because the other side may be faulty. */
#ifndef MEHARI_WIRE_H
#define MEHARI_WIRE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define MEHARI_MAGIC 0x4d485249u /* "MHRI" */
#define MEHARI_VERSION 22u

#define MEHARI_SLOTS 4u
#define MEHARI_SLOT_SIZE 163840u
#define MEHARI_SLOTS_OFFSET 4096u
#define MEHARI_RING_SIZE 262144u
#define MEHARI_RING_OFFSET (MEHARI_SLOTS_OFFSET + MEHARI_SLOTS * MEHARI_SLOT_SIZE)
/* The place at which the front writes its answer to a worker's question: a request frame, or the
 * answer to MEHARI_RECORD_PAGE. */
#define MEHARI_ANSWER_OFFSET (MEHARI_RING_OFFSET + MEHARI_RING_SIZE)
#define MEHARI_ANSWER_SIZE 65536u
/* The place of the order to inspect the worker: a text that ends with NUL. */
#define MEHARI_INSPECTION_OFFSET (MEHARI_ANSWER_OFFSET + MEHARI_ANSWER_SIZE)
#define MEHARI_INSPECTION_SIZE 4096u
#define MEHARI_MAILBOX_SIZE (MEHARI_INSPECTION_OFFSET + MEHARI_INSPECTION_SIZE)

/* The longest payload of one ring record, in bytes. */
#define MEHARI_RECORD_LIMIT 65536u

/* State words, one cache line for each writer. */
#define MEHARI_SLEEPS_NO_MORE 2u

typedef struct {
  uint32_t magic, version;
  /* Low half: submitted requests (front). High half: taken requests (worker). Both wrap. */
  _Alignas(64) _Atomic uint64_t word;
  /* A futex: 1 while the worker sleeps, MEHARI_SLEEPS_NO_MORE when the worker must end, else 0. */
  _Alignas(64) _Atomic uint32_t worker_sleeps;
  /* The number of bytes that the worker has ever written to the ring. */
  _Alignas(64) _Atomic uint64_t ring_written;
  /* The number of bytes that the front has ever read from the ring. */
  _Alignas(64) _Atomic uint64_t ring_read;
  /* A futex: 1 while the worker waits for room in the ring. */
  _Alignas(64) _Atomic uint32_t worker_waits_for_room;
  /* For the status page only: the worker's state (MEHARI_STATE_*), request_id and finished. */
  _Alignas(64) _Atomic uint32_t state;
  /* The process that serves for the worker on the rung `fork`; 0: none. Used only by the worker
   * and its template. */
  _Atomic uint32_t child;
  _Atomic uint64_t request_id;
  _Atomic uint64_t finished;
  /* The progress of the request that was taken last (progress.c). Only the processes of the worker
   * use these words. */
  _Alignas(64) _Atomic uint64_t progress;
  _Atomic uint64_t next_progress, next_progress_at;
  _Atomic uint64_t question_at; /* the ring's position before the last ASK */
  _Atomic uint32_t question_before; /* the number of answers before the last ASK */
  /* A futex: the number of answers that the front has ever given. */
  _Alignas(64) _Atomic uint32_t answered;
  /* 1 while an order to inspect the worker waits for the worker. */
  _Alignas(64) _Atomic uint32_t inspection;
  /* The number (mehari_mailbox_number) of the last request whose client has left while the worker
   * served the request. */
  _Alignas(64) _Atomic uint32_t departed;
} mehari_mailbox;

enum { MEHARI_STATE_STARTING, MEHARI_STATE_IDLE, MEHARI_STATE_BUSY, MEHARI_STATE_CLEANUP };

/* A page that all workers and the front share: whether the front sleeps. The word is only a hint,
 * because the front also reads the rings without a bell. */
typedef struct {
  _Atomic uint32_t front_sleeps;
} mehari_bell;

typedef struct {
  uint32_t offset, length; /* relative to the start of the frame */
} mehari_span;

typedef struct {
  mehari_span name, value;
} mehari_pair;

enum {
  MEHARI_TEXT_TASK, /* the script file, handler name or application file */
  MEHARI_TEXT_METHOD,
  MEHARI_TEXT_TARGET,
  MEHARI_TEXT_SCRIPT_NAME,
  MEHARI_TEXT_PATH_INFO,
  MEHARI_TEXT_QUERY,
  MEHARI_TEXT_PROTOCOL,
  MEHARI_TEXT_SCHEME,
  MEHARI_TEXT_SERVER_NAME,
  MEHARI_TEXT_SERVER_ADDR,
  MEHARI_TEXT_REMOTE_ADDR,
  MEHARI_TEXT_DOCUMENT_ROOT,
  MEHARI_TEXT_FILE, /* the file to which a handler's path was mapped */
  MEHARI_TEXT_SETTINGS, /* the settings in force that Perl needs; empty: no such settings */
  /* The media type of that file, by the file's name. Empty: unknown, or a script. */
  MEHARI_TEXT_MEDIA_TYPE,
  MEHARI_TEXT_USER, /* the user whose password the front has found correct; empty: none */
  MEHARI_TEXT_CHALLENGE, /* header lines that request authentication */
  /* The path and the file of the folder whose index the request has got, or of the path whose
   * fallback it has got. Empty: neither. */
  MEHARI_TEXT_FOLDER,
  MEHARI_TEXT_FOLDER_FILE,
  /* The number of that place's settings (uint32_t) and their text. Empty: they are those of the
   * request. */
  MEHARI_TEXT_FOLDER_SETTINGS,
  /* Content-Encoding and Content-Language by the file's name. Empty: the name gives none. */
  MEHARI_TEXT_CODING,
  MEHARI_TEXT_LANGUAGES,
  MEHARI_TEXT_PATH_TRANSLATED,
  MEHARI_TEXT_COUNT
};

enum { MEHARI_TASK_FORK, MEHARI_TASK_PERLRUN, MEHARI_TASK_REGISTRY, MEHARI_TASK_HANDLER, MEHARI_TASK_PSGI,
       MEHARI_TASK_FRONT, /* the front responds after Perl's handlers of the earlier phases */
       /* There is no request. The body's file is the client's socket, and the worker serves the
        * connection. */
       MEHARI_TASK_CONNECTION,
       MEHARI_TASK_REWIND, /* as FORK, but the process is rewound after each request */
       MEHARI_TASK_AUTO, /* as REWIND while there is room for a picture, else as FORK */
       /* There is no request. The worker calls the sub with this name. The body has its
        * arguments. */
       MEHARI_TASK_DEFERRED };
enum { MEHARI_BODY_EMPTY, MEHARI_BODY_MEMORY, MEHARI_BODY_FILE };
enum { MEHARI_FLAG_PARSE_HEADERS = 1, MEHARI_FLAG_PERL_SCRIPT = 2, MEHARI_FLAG_CGI_WORLD = 4, MEHARI_FLAG_HEAD = 8, MEHARI_FLAG_PROGRAM = 16,
       /* The request is part of a page with server-side includes. */
       MEHARI_FLAG_FILE = 32, MEHARI_FLAG_WITHIN = 64,
       /* A handler or an application: its process is rewound after the request. */
       MEHARI_FLAG_REWOUND = 128 };

/* The result of the front's own authentication. */
enum {
  MEHARI_LOGIN_UNASKED, /* no AuthType requires a user */
  MEHARI_LOGIN_KNOWN, /* the password is correct */
  MEHARI_LOGIN_REFUSED, /* the password is missing or wrong */
  MEHARI_LOGIN_NO_SUCH_TYPE, MEHARI_LOGIN_NO_REALM, MEHARI_LOGIN_NO_USER_FILE,
  MEHARI_LOGIN_NAMED, /* as UNASKED; after the fixup phase `SSLUserName` sets the user */
  MEHARI_LOGIN_SETTLED /* the page of a refusal by its own place: access is not checked again */
};

/* The mark of a file's state. While the mark is the same, the file is unchanged. Never 0. */
static inline uint64_t mehari_file_mark(uint64_t device, uint64_t inode, uint64_t size, uint64_t seconds, uint64_t nanoseconds)
{
  const uint64_t parts[] = {device, inode, size, seconds, nanoseconds};
  uint64_t mark = 0;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    mark = (mark ^ parts[i]) * UINT64_C(0x9E3779B97F4A7C15);
    mark ^= mark >> 32;
  }
  return mark ? mark : 1;
}

/* A request frame at the start of a slot; pairs (fields, then variables) and bytes follow. */
typedef struct {
  uint32_t length; /* bytes of the whole frame */
  uint8_t task, flags, body_kind;
  uint8_t login; /* MEHARI_LOGIN_* */
  uint64_t request_id;
  uint64_t body_length;
  /* The number of the client's connection (0: unknown), and how many requests the connection had
   * before. */
  uint64_t connection, kept;
  /* mehari_file_mark of the program's file, while the front watches the file. 0: the worker checks
   * the file. */
  uint64_t file_mark;
  uint64_t known; /* results of the parts of `Require` that need no user, two bits each */
  uint8_t traced; /* 1: the worker reports the parts of the request's time; else 0 */
  uint8_t sends_file; /* 1: the front sends a file or a page, or a 404; else 0 */
  uint16_t includes; /* 1: files of this place may be pages with server-side includes; else 0 */
  uint32_t visit; /* the number of the frame, which tells the parts of a page apart */
  mehari_span body; /* MEHARI_BODY_MEMORY */
  uint16_t field_count, variable_count;
  uint16_t server_port, remote_port;
  uint32_t settings_id; /* the number of the settings text: equal numbers mean equal texts */
  /* The status with which the front refuses the request in the access phase. 0: no refusal. */
  uint16_t access_status;
  uint16_t server;        /* the number of the virtual host; 0: the main server */
  /* The internal redirect that led to this request: 200, or the status of the error page. 0: no
   * redirect. */
  uint16_t redirect_status;
  uint16_t depth; /* the number of internal redirects and includes before this request */
  /* How many of the variables come from `SetEnv`, then how many from `PerlSetEnv`. The others
   * follow. */
  uint16_t set_env_count, perl_set_env_count;
  mehari_span text[MEHARI_TEXT_COUNT];
} mehari_request;

/* The outcome of a response that the front gave in a worker's place. The response's head follows as
 * it was sent. */
typedef struct {
  uint32_t length; /* bytes of this struct and the head */
  uint32_t status; /* 0: unknown */
  uint64_t bytes;  /* of the body */
} mehari_outcome_frame;

/* The start of a line on a zygote's descriptor 2 that names its level. The level's digit and the
 * text follow. Other lines are errors. */
#define MEHARI_LOG_MARK "\x1f"

/* A ring record: this struct, then `length` bytes, then padding to a multiple of 8. A record may
 * continue at the start of the ring after any byte. */
typedef struct {
  uint32_t length;
  uint16_t kind;
  uint16_t detail; /* the status of a head, the level of a log line, the flags of an end */
} mehari_record;

enum {
  /* A whole response: u32 length of the header lines, the lines, the body. */
  MEHARI_RECORD_RESPONSE = 1,
  MEHARI_RECORD_HEAD,         /* header lines, each `Name: value\r\n` */
  MEHARI_RECORD_BODY,
  MEHARI_RECORD_END,          /* the response is complete */
  MEHARI_RECORD_INTERIM,      /* a 1xx response: header lines */
  MEHARI_RECORD_LOG,          /* one line for the error log */
  MEHARI_RECORD_DONE,         /* the worker is free again (after cleanup); detail: MEHARI_DONE_* */
  /* The rest of the response comes through a pipe. The pipe's reading end is in the descriptor
   * socket. Detail: the status so far and MEHARI_TAP_PARSE. Payload: u32 length of the header lines
   * so far, the lines, the script's file for the log. */
  MEHARI_RECORD_TAP,
  /* The front responds. Detail: the status (0: the front decides). Payload: MEHARI_PASS_* parts. */
  MEHARI_RECORD_PASS,
  /* A question: how would the front handle this path? Detail: the server. Payload: the method, NUL,
   * path and query. If a handler chose a file, NUL and the file follow. */
  MEHARI_RECORD_ASK,
  /* The user, sent before the response. Payload: AUTH_TYPE, then the user's name. Detail: the
   * length of AUTH_TYPE in bytes. */
  MEHARI_RECORD_USER,
  /* How a script with the rung `rewind` really runs, sent before DONE. Fields with tabs between
   * them: the task's text, the rung, pages of the picture, hot pages, rewinds, searches, replaced
   * processes, the checks after every rewind, the library that demands most of them, a library that
   * a request has loaded, and why the last process was replaced or the rung differs. */
  MEHARI_RECORD_RUNG,
  /* Like MEHARI_RECORD_PASS, but the worker filters the front's response and sends the result. The
   * worker passes the front one end of a stream socket on the descriptor socket. The front writes
   * MEHARI_FETCH_FOLLOWS and the body to the stream socket. If the front closes it without writing,
   * the front's own response is final. Detail: MEHARI_FETCH_BODY. */
  MEHARI_RECORD_FETCH,
  /* The modules that a script on `fork`, `rewind` or `auto` has loaded while it ran, sent before
   * DONE. The script's file, then for each module its name in %INC and its file, with NULs between
   * them. */
  MEHARI_RECORD_MODULES,
  /* A part of a traced request's time. Detail: MEHARI_PART_*. Payload: a mehari_part, then the
   * part's name. A part comes after the parts within it. */
  MEHARI_RECORD_PART,
  /* About calls that the request defers. Detail: MEHARI_DEFER_*. */
  MEHARI_RECORD_DEFER,
  /* How handlers have changed the request to which Perl responds. Payload: MEHARI_PASS_* parts. */
  MEHARI_RECORD_CHANGED,
  /* Asks for rules that read the request after handlers. Detail: MEHARI_LEFT_*. Payload: as
   * MEHARI_RECORD_CHANGED, with MEHARI_PASS_TARGET and MEHARI_PASS_FILE if a handler has chosen
   * another path. The answer is a request frame. A frame of length 0: nothing changes. */
  MEHARI_RECORD_RULES,
  /* What the access line says of the request as handlers have left it. Detail: MEHARI_LOGGED_*.
   * Payload: MEHARI_PASS_* parts. */
  MEHARI_RECORD_LOGGED,
  /* A step of a page that the front makes as the response of a sub-request: a file with server-side
   * includes, or what neither Perl nor a file responds. The worker runs the page's parts. Detail:
   * the server. Payload: a mehari_page_step, and for the first step the question as in
   * MEHARI_RECORD_ASK. The answer: u32 length of the whole, then MEHARI_PAGE_* actions. An answer
   * of length 0: the page ends. */
  MEHARI_RECORD_PAGE
};
typedef struct {
  uint8_t kind;    /* MEHARI_PAGE_* */
  uint8_t depth;   /* the number of pages within which this page is run */
  uint16_t status; /* MEHARI_PAGE_GO_ON: the status with which the part has failed; 0: it has not */
} mehari_page_step;
enum {
  MEHARI_PAGE_BEGIN,
  MEHARI_PAGE_INCLUDED, /* as MEHARI_PAGE_BEGIN, but the page is a part of the page before it */
  MEHARI_PAGE_GO_ON,
  MEHARI_PAGE_RESPOND /* what responds is neither Perl nor a file */
};
/* An action: this byte, u32 length, the bytes. */
#define MEHARI_PAGE_PRINT 'p'
#define MEHARI_PAGE_SET 'v' /* a variable: name, NUL, value */
#define MEHARI_PAGE_RUN 'u' /* path and query of a part to run; the last action of an answer */
#define MEHARI_PAGE_HEAD 'h' /* a u16: the status of the response; then its header lines */
#define MEHARI_PAGE_LEAD 'l' /* path and query to which an internal redirect leads; the page ends */
#define MEHARI_PAGE_END 'e' /* a u16: 0, MEHARI_PAGE_PLAIN, or the status with which the page fails */
enum { MEHARI_PAGE_PLAIN = 1 /* the file has no includes */ };
enum {
  MEHARI_LOGGED_NOW, /* no Log handler runs, so the access line waits for nothing */
  MEHARI_LOGGED_LATER, /* the access line waits for MEHARI_LOGGED_LAST, or for the end of the request */
  MEHARI_LOGGED_LAST /* the Log handlers have run */
};
enum {
  MEHARI_LEFT_VARIABLES = 1, /* `SetEnvIf`, after the handlers of the header parser phase */
  MEHARI_LEFT_ACCESS, /* `Require` and `Allow`, after the handlers of the access phase */
  MEHARI_LEFT_FIXUPS, /* `Redirect`, `RewriteRule`, `RequestHeader`, after those of the fixup phase */
  MEHARI_LEFT_AUTHORIZATION, /* `Require`, after the handlers of the authorisation phase */
  /* The rules that choose the place, from those of the server on; after MEHARI_LEFT_TRANSLATION
   * without `SetEnvIf` of the server, after MEHARI_LEFT_STORAGE only `<If>`. */
  MEHARI_LEFT_READ, MEHARI_LEFT_TRANSLATION, MEHARI_LEFT_STORAGE,
  MEHARI_LEFT_LIMITS /* the limits of running requests and of rates, at the place that handlers have found */
};
/* The access status of the answer about MEHARI_LEFT_FIXUPS and the rules that choose the place, if
 * it is not the status that ends the request. */
enum {
  MEHARI_FIXUPS_GO_ON, /* with the frame's fields, variables, query and task */
  MEHARI_FIXUPS_HAND_BACK, /* the front responds */
  MEHARI_FIXUPS_ELSEWHERE = 200 /* the frame's target answers: an internal redirect */
};
enum {
  /* The call of a named sub. Payload: the name, NUL, the frozen arguments. The front answers with a
   * mehari_outcome_frame: status 202, or 503 if it has no room. */
  MEHARI_DEFER_CALL,
  /* What the worker does itself: it keeps code, begins to call the oldest kept code, has ended this
   * call without or with an error, or keeps no more code. */
  MEHARI_DEFER_KEPT,
  MEHARI_DEFER_BEGUN,
  MEHARI_DEFER_DONE,
  MEHARI_DEFER_FAILED,
  MEHARI_DEFER_REFUSED
};
enum {
  MEHARI_PART_REQUEST = 1, /* from taking the request to DONE */
  MEHARI_PART_ORDER, /* the search for the template that serves the request */
  MEHARI_PART_HANDLER, /* a handler of a phase */
  MEHARI_PART_SCRIPT, /* a script or an application */
  MEHARI_PART_COMPILE,
  MEHARI_PART_LOAD, /* a file that the request has loaded */
  MEHARI_PART_SUBREQUEST,
  MEHARI_PART_STATEMENT, /* a method of DBI, or fetches in a row */
  MEHARI_PART_CLEANUP
};
#define MEHARI_PART_NO_ROWS UINT64_MAX
typedef struct {
  uint64_t from, until; /* nanoseconds of CLOCK_MONOTONIC */
  uint64_t busy; /* nanoseconds that `count` calls took together */
  uint64_t rows; /* MEHARI_PART_NO_ROWS: unknown */
  uint32_t count;
  uint32_t pid;
} mehari_part;
enum { MEHARI_FETCH_BODY = 1 /* a second file is the request's body after the input filters */ };
#define MEHARI_FETCH_FOLLOWS 'b'
/* A part of MEHARI_RECORD_PASS: this byte, u32 length, the bytes. */
#define MEHARI_PASS_LINES 'l'    /* header lines to send with the answer */
#define MEHARI_PASS_FILE 'f' /* the file to send instead of the mapped file */
#define MEHARI_PASS_TYPE 't' /* the media type of that file */
/* The value that replaces the configured ErrorDocument for this request. */
#define MEHARI_PASS_DOCUMENT 'd'
#define MEHARI_PASS_HANDLER 'c' /* the name of the handler that is to respond, if Perl has set it */
/* Path and query of another resource of this server, which responds instead. */
#define MEHARI_PASS_TARGET 'u'
/* Path and query at which the request continues, because a handler has chosen them. With
 * MEHARI_PASS_FILE, their file. */
#define MEHARI_PASS_MOVED 'p'
/* All fields of the request after the handlers: name, NUL, value, NUL ... */
#define MEHARI_PASS_FIELDS 'h'
#define MEHARI_PASS_VARIABLES 'v' /* variables that handlers have set, in the same form */
/* Names of variables that handlers have removed, each followed by a NUL. */
#define MEHARI_PASS_REMOVED 'x'
#define MEHARI_PASS_QUERY 'q'   /* the query that handlers have set */
#define MEHARI_PASS_METHOD 'm'  /* the method that handlers have set */
/* The method of the number that handlers have set, for `<Limit>`. */
#define MEHARI_PASS_NUMBERED 'i'
#define MEHARI_PASS_USER 'n'    /* the user of the request about which MEHARI_RECORD_ASK asks */
/* How the request about which MEHARI_RECORD_ASK asks comes about: one byte. Without this part it is
 * the asking request at another place. */
#define MEHARI_PASS_ORIGIN 'k'
#define MEHARI_PASS_WITHIN 's' /* a sub-request */
/* A sub-request whose handlers of the fixup phase have run. The answer has the results of the fixup
 * rules: its access status is 0 or the status that ends the sub-request. */
#define MEHARI_PASS_HANDLED 'f'
#define MEHARI_PASS_REDIRECTED 'r' /* an internal redirect */
/* The worker waits for the outcome: a mehari_outcome_frame at MEHARI_ANSWER_OFFSET. */
#define MEHARI_PASS_LISTENS 'w'
/* Only in MEHARI_RECORD_LOGGED, together with the file, the fields, the variables, the query, the
 * method, the user, and the decoded path as the target. */
#define MEHARI_PASS_NOTES 'o' /* name, NUL, value, NUL ... */
#define MEHARI_PASS_STATUS 's' /* a u16, if a Log handler has set the status */
/* The fields of the response, in the form of the notes, if a Log handler has changed them. */
#define MEHARI_PASS_ANSWERED 'r'
enum { MEHARI_TAP_PARSE = 0x8000 }; /* the header block comes through the pipe */
enum {
  MEHARI_END_BROKEN = 1,
  MEHARI_END_DETACHED = 2 /* the front does not wait for other processes that hold the tap */
};
enum {
  MEHARI_DONE_RETIRE = 1,
  MEHARI_DONE_AGAIN = 2, /* the request was not begun and is for another worker */
  MEHARI_DONE_REPLACE = 4 /* the worker asks to be replaced, and serves until then */
};
enum { MEHARI_LOG_ERROR = 3, MEHARI_LOG_WARN = 4, MEHARI_LOG_NOTICE = 5, MEHARI_LOG_INFO = 6 };

/* Control messages between front and zygote. Each message is one datagram, which may carry
 * descriptors. A text that is longer than one datagram comes in several datagrams: `status` is 1 in
 * all but the last datagram. */
enum {
  MEHARI_CONTROL_PRELOAD = 1, /* from the front: kind in `slot`, name in the text */
  /* From the front: the list of preloads is complete. `slot` has MEHARI_READY_*. From the zygote:
   * everything is loaded, and after a warm-up: workers can be forked. */
  MEHARI_CONTROL_READY,
  /* From the zygote: the preload with the number `slot`, counted from 1, failed. `slot` 0: the
   * start as a whole failed. The text is the reason. */
  MEHARI_CONTROL_FAILED,
  MEHARI_CONTROL_FORK, /* from the front: fork a worker; descriptors: mailbox, descriptor socket */
  MEHARI_CONTROL_FORKED, /* from the zygote: slot, pid */
  MEHARI_CONTROL_ENDED, /* from the zygote: pid, wait status */
  /* From the zygote, before READY: a file that it loaded from the site's folders. */
  MEHARI_CONTROL_LOADED,
  /* From the front, before preloads: the settings for Perl of the server with the number `slot`. */
  MEHARI_CONTROL_SERVER,
  /* From the front, before preloads: the lines of the configuration, each as file, line number and
   * text with tabs between them. */
  MEHARI_CONTROL_TREE,
  /* From the zygote, before READY: the handlers that start-up code gave to the server with the
   * number `slot`. The text is the phase's directive, NUL, handler, NUL, handler ... */
  MEHARI_CONTROL_PUSHED,
  /* From the front: a question about a script's file. `slot` is the number of the question. */
  MEHARI_CONTROL_EXPLAIN,
  /* From the zygote: a line of the answer to question `slot`. If `pid` is not 0, the answer is
   * complete, and `status` is the wait status of the process that answered. */
  MEHARI_CONTROL_EXPLAINED,
  /* From the zygote: what fork-lint has found. */
  MEHARI_CONTROL_LINTED,
  /* From the front: serve requests now; descriptors: mailbox, descriptor socket. */
  MEHARI_CONTROL_WARM,
  /* From the front: an order to inspect the zygote. The text is as in a mailbox. */
  MEHARI_CONTROL_INSPECT
};
enum {
  MEHARI_READY_TRIAL = 1,
  MEHARI_READY_WARMS = 2 /* MEHARI_CONTROL_WARM follows */
};
enum { MEHARI_PRELOAD_MODULE = 1, MEHARI_PRELOAD_REQUIRE, MEHARI_PRELOAD_REGISTRY, MEHARI_PRELOAD_PSGI, MEHARI_PRELOAD_PERLRUN, MEHARI_PRELOAD_FORK, MEHARI_PRELOAD_HANDLER,
       MEHARI_PRELOAD_SECTION, /* FILE:LINE, NUL, the code of a <Perl> section */
       MEHARI_PRELOAD_DIRECTIVE, /* a directive that a Perl module defined, as Mehari::Directives reads it */
       /* A module that a script's requests load: the script's file, its name in %INC, its file. */
       MEHARI_PRELOAD_LEARNED };
#define MEHARI_CONTROL_TEXT 8192u
typedef struct {
  uint32_t kind, slot;
  int32_t pid, status;
  uint32_t length; /* bytes of the text that follows */
} mehari_control;

#endif
