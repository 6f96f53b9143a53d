/* The mailbox as the worker sees it: the C face of server/wire. A test holds both equal.
 *
 * One shared memory file a worker: a page of state words, request slots the front writes, a ring of
 * response records the worker writes. Offsets are bytes from the start of the file; integers are
 * native. Each side may be broken: the front checks every length it reads, the worker its own.
 */
#ifndef MEHARI_WIRE_H
#define MEHARI_WIRE_H

#include <stdatomic.h>
#include <stdint.h>

#define MEHARI_MAGIC 0x4d485249u /* "MHRI" */
#define MEHARI_VERSION 8u

#define MEHARI_SLOTS 4u
#define MEHARI_SLOT_SIZE 163840u
#define MEHARI_SLOTS_OFFSET 4096u
#define MEHARI_RING_SIZE 262144u
#define MEHARI_RING_OFFSET (MEHARI_SLOTS_OFFSET + MEHARI_SLOTS * MEHARI_SLOT_SIZE)
/* Where the front writes its answer to a worker's question: a request frame. */
#define MEHARI_ANSWER_OFFSET (MEHARI_RING_OFFSET + MEHARI_RING_SIZE)
#define MEHARI_ANSWER_SIZE 65536u
#define MEHARI_MAILBOX_SIZE (MEHARI_ANSWER_OFFSET + MEHARI_ANSWER_SIZE)

/* The longest payload of one ring record, bytes. */
#define MEHARI_RECORD_LIMIT 65536u

/* State words, one cache line for each writer. */
typedef struct {
  uint32_t magic, version;
  /* Low half: submitted requests (front). High half: taken requests (worker). Both wrap. */
  _Alignas(64) _Atomic uint64_t word;
  /* 1 while the worker sleeps, a futex. */
  _Alignas(64) _Atomic uint32_t worker_sleeps;
  /* The number of bytes that the worker has ever written to the ring. */
  _Alignas(64) _Atomic uint64_t ring_written;
  /* The number of bytes that the front has ever read from it. */
  _Alignas(64) _Atomic uint64_t ring_read;
  /* 1 while the worker waits for room in the ring, a futex. */
  _Alignas(64) _Atomic uint32_t worker_waits_for_room;
  /* The worker's state for the status page only: MEHARI_STATE_*, the request, finished requests. */
  _Alignas(64) _Atomic uint32_t state;
  _Atomic uint32_t forked;
  _Atomic uint64_t request_id;
  _Atomic uint64_t finished;
  /* The process that serves for the worker on the rung `fork`; 0: none. Used only by the worker
   * and its template. */
  _Atomic uint32_t child;
  /* The number of answers that the front has ever given, a futex. */
  _Alignas(64) _Atomic uint32_t answered;
} mehari_mailbox;

enum { MEHARI_STATE_STARTING, MEHARI_STATE_IDLE, MEHARI_STATE_BUSY, MEHARI_STATE_CLEANUP };

/* A page shared by all workers and the front: the front's sleep word. Only a hint, because the
 * front also looks by itself. */
typedef struct {
  _Atomic uint32_t front_sleeps;
} mehari_bell;

typedef struct {
  uint32_t offset, length; /* within the frame */
} mehari_span;

typedef struct {
  mehari_span name, value;
} mehari_pair;

enum {
  MEHARI_TEXT_TASK, /* script file, handler name or application file */
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
  MEHARI_TEXT_FILE, /* of a handler: what the path was mapped to */
  MEHARI_TEXT_SETTINGS, /* what Perl has to know of the settings in force; empty: nothing */
  MEHARI_TEXT_MEDIA_TYPE, /* of what the path was mapped to, by its name; empty: unknown, or a script */
  MEHARI_TEXT_USER, /* whose password the front has found right; empty: nobody's */
  MEHARI_TEXT_CHALLENGE, /* header lines that ask who it is */
  MEHARI_TEXT_COUNT
};

enum { MEHARI_TASK_FORK, MEHARI_TASK_PERLRUN, MEHARI_TASK_REGISTRY, MEHARI_TASK_HANDLER, MEHARI_TASK_PSGI,
       MEHARI_TASK_FRONT, /* the front answers, once the Perl handlers of the phases before have run */
       MEHARI_TASK_CONNECTION, /* no request: the body's file is the client's socket, which the worker speaks on */
       MEHARI_TASK_REWIND /* as FORK, in a process that is put back after each request */ };
enum { MEHARI_BODY_EMPTY, MEHARI_BODY_MEMORY, MEHARI_BODY_FILE };
enum { MEHARI_FLAG_PARSE_HEADERS = 1, MEHARI_FLAG_PERL_SCRIPT = 2, MEHARI_FLAG_CGI_WORLD = 4, MEHARI_FLAG_HEAD = 8, MEHARI_FLAG_PROGRAM = 16,
       MEHARI_FLAG_FILE = 32, MEHARI_FLAG_WITHIN = 64, /* part of a page of server-side includes */
       MEHARI_FLAG_WHERE_ROOM = 128 /* MEHARI_TASK_REWIND for the rung `auto`: while there is room for the picture */ };

/* The result of the front's own authentication. */
enum {
  MEHARI_LOGIN_UNASKED, /* nothing says that one is to be asked for */
  MEHARI_LOGIN_KNOWN,   /* the password was right */
  MEHARI_LOGIN_REFUSED, /* there is none, or a wrong one */
  MEHARI_LOGIN_NO_SUCH_TYPE, MEHARI_LOGIN_NO_REALM, MEHARI_LOGIN_NO_USER_FILE
};

/* The mark of a file's state: while the mark is the same, so is the file. Never 0. */
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
  uint32_t length; /* of the whole frame, bytes */
  uint8_t task, flags, body_kind;
  uint8_t login; /* MEHARI_LOGIN_* */
  uint64_t request_id;
  uint64_t body_length;
  uint64_t connection, kept; /* the number of the client's connection, and how many requests it brought before; 0: not known */
  uint64_t file_mark; /* mehari_file_mark of the program's file, which the front watches; 0: it does not */
  uint64_t known; /* verdicts on the parts of `Require` that ask for no user: two bits each */
  mehari_span body; /* MEHARI_BODY_MEMORY */
  uint16_t field_count, variable_count;
  uint16_t server_port, remote_port;
  uint32_t settings_id;   /* of the settings text: the same number, the same text */
  uint16_t access_status; /* 0, or the status the front itself refuses with in the access phase */
  uint16_t server;        /* the number of the virtual host; 0: the main server */
  uint16_t redirect_status; /* why the server led the request here from another path: 200, or the status this is the page of; 0: it did not */
  uint16_t depth;           /* how many internal redirects and includes led here */
  uint16_t set_env_count, perl_set_env_count; /* variables: those of SetEnv, those of PerlSetEnv, all others */
  mehari_span text[MEHARI_TEXT_COUNT];
} mehari_request;

/* The outcome of a response that the front gave in a worker's place. Its head follows as it was
 * sent. */
typedef struct {
  uint32_t length; /* of this and the head */
  uint32_t status; /* 0: nothing is known */
  uint64_t bytes;  /* of the body */
} mehari_outcome_frame;

/* A ring record: this, then `length` bytes, then padding to 8. It may wrap anywhere. */
typedef struct {
  uint32_t length;
  uint16_t kind;
  uint16_t detail; /* status of a head, level of a log line, flags of an end */
} mehari_record;

enum {
  MEHARI_RECORD_RESPONSE = 1, /* a whole response: u32 length of the header lines, the lines, the body */
  MEHARI_RECORD_HEAD,         /* header lines, each `Name: value\r\n` */
  MEHARI_RECORD_BODY,
  MEHARI_RECORD_END,          /* the response is complete */
  MEHARI_RECORD_INTERIM,      /* a 1xx response: header lines */
  MEHARI_RECORD_LOG,          /* one line for the error log */
  MEHARI_RECORD_DONE,         /* the worker is free again (after cleanup); detail: MEHARI_DONE_* */
  /* The rest comes through a pipe whose reading end is in the descriptor socket. Detail: the status so far and
   * MEHARI_TAP_PARSE. u32 length of the header lines so far, the lines, the script's file for the log. */
  MEHARI_RECORD_TAP,
  MEHARI_RECORD_PASS,         /* the front answers: detail is the status (0: as it would by itself), the payload MEHARI_PASS_* parts */
  MEHARI_RECORD_ASK,          /* what would answer this here (detail: the server)? The method, NUL, path and query, and NUL and a file if a handler chose one */
  MEHARI_RECORD_USER,         /* who the user is, before the answer: how that is known (as many bytes as the detail says), the name */
  /* How a script runs that is to run on the rung `rewind`, with tabs between: its file, the rung, pages of its picture,
   * hot ones, rewinds, looks, processes replaced, why the last one was or why the rung is another. Before DONE. */
  MEHARI_RECORD_RUNG
};
/* A part of MEHARI_RECORD_PASS: this byte, u32 length, the bytes. */
#define MEHARI_PASS_LINES 'l'    /* header lines to send with the answer */
#define MEHARI_PASS_FILE 'f'     /* the file to send instead of the one the path was mapped to */
#define MEHARI_PASS_TYPE 't'     /* its content type */
#define MEHARI_PASS_DOCUMENT 'd' /* what ErrorDocument would say, for this request */
#define MEHARI_PASS_TARGET 'u'   /* another path of this server answers */
#define MEHARI_PASS_FIELDS 'h'   /* the fields of the request as handlers have left it, all: name, NUL, value, NUL ... */
#define MEHARI_PASS_VARIABLES 'v' /* variables that handlers have set, likewise */
#define MEHARI_PASS_REMOVED 'x' /* names of variables that handlers have taken out, a NUL behind each */
#define MEHARI_PASS_QUERY 'q'   /* the query that handlers have set */
#define MEHARI_PASS_LISTENS 'w'  /* the worker waits to hear what the answer was: a mehari_outcome in the answer's place */
enum { MEHARI_TAP_PARSE = 0x8000 }; /* the header block comes through the pipe */
enum {
  MEHARI_END_BROKEN = 1,
  MEHARI_END_DETACHED = 2 /* others that hold the tap are not waited for */
};
enum {
  MEHARI_DONE_RETIRE = 1,
  MEHARI_DONE_AGAIN = 2 /* the request was not begun: it is for another worker */
};
enum { MEHARI_LOG_ERROR = 3, MEHARI_LOG_WARN = 4, MEHARI_LOG_NOTICE = 5, MEHARI_LOG_INFO = 6 };

/* Control messages between front and zygote: one datagram each, descriptors beside it. A text that is longer
 * than one holds comes in several: `status` is 1 in all but the last. */
enum {
  MEHARI_CONTROL_PRELOAD = 1, /* front: kind in `slot`, name in the text */
  MEHARI_CONTROL_READY,       /* front: nothing more to load, `slot` 1: it was a trial; zygote: everything is loaded */
  MEHARI_CONTROL_FAILED,      /* zygote: the preload of number `slot`, from 1, failed, or the start as a whole (0); text says why */
  MEHARI_CONTROL_FORK,        /* front: make a worker; descriptors: mailbox, descriptor socket */
  MEHARI_CONTROL_FORKED,      /* zygote: slot, pid */
  MEHARI_CONTROL_ENDED,       /* zygote: pid, wait status */
  MEHARI_CONTROL_LOADED,      /* zygote: a file of the site's own it loaded; before READY */
  MEHARI_CONTROL_SERVER,      /* front: what Perl has to know of the server of number `slot`; before preloads */
  MEHARI_CONTROL_TREE,        /* front: the configuration as it was read, lines of file, number, text with tabs between; before preloads */
  MEHARI_CONTROL_PUSHED       /* zygote: handlers that start-up code gave the server of number `slot`: phase's directive, NUL, handler, NUL, handler ...; before READY */
};
enum { MEHARI_PRELOAD_MODULE = 1, MEHARI_PRELOAD_REQUIRE, MEHARI_PRELOAD_REGISTRY, MEHARI_PRELOAD_PSGI, MEHARI_PRELOAD_PERLRUN, MEHARI_PRELOAD_FORK, MEHARI_PRELOAD_HANDLER,
       MEHARI_PRELOAD_SECTION, /* FILE:LINE, NUL, the code of a <Perl> section */
       MEHARI_PRELOAD_DIRECTIVE /* a line of a directive that a Perl module defined, as Mehari::Directives reads it */ };
#define MEHARI_CONTROL_TEXT 8192u
typedef struct {
  uint32_t kind, slot;
  int32_t pid, status;
  uint32_t length; /* of the text that follows */
} mehari_control;

#endif
