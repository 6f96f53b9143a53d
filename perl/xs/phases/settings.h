/* The configuration of a location or a server for Perl. */
#ifndef MEHARI_SETTINGS_H
#define MEHARI_SETTINGS_H

#include "mehari.h"

enum {
  MEHARI_PHASE_POST_READ_REQUEST, MEHARI_PHASE_TRANS, MEHARI_PHASE_MAP_TO_STORAGE, MEHARI_PHASE_HEADER_PARSER, MEHARI_PHASE_ACCESS,
  MEHARI_PHASE_AUTHEN, MEHARI_PHASE_AUTHZ, MEHARI_PHASE_TYPE, MEHARI_PHASE_FIXUP, MEHARI_PHASE_INPUT_FILTER, MEHARI_PHASE_OUTPUT_FILTER,
  MEHARI_PHASE_RESPONSE, MEHARI_PHASE_LOG, MEHARI_PHASE_CLEANUP,
  MEHARI_PHASE_PRE_CONNECTION, MEHARI_PHASE_PROCESS_CONNECTION, MEHARI_PHASE_CHILD_INIT, MEHARI_PHASE_CHILD_EXIT, MEHARI_PHASE_OPEN_LOGS,
  MEHARI_PHASE_POST_CONFIG, MEHARI_PHASE_COUNT
};
typedef struct {
  const char *name; /* the directive's name, which ModPerl::Util::current_callback returns */
  /* True: handlers run until a handler returns neither OK nor DECLINED. False: until a handler does
   * not return DECLINED. */
  bool runs_all;
} mehari_phase_row;
extern const mehari_phase_row mehari_phases[MEHARI_PHASE_COUNT];
int mehari_phase_named(const char *name, STRLEN length); /* -1: no phase has the name */

/* `PerlOptions` of a location. server/config/src/phase.rs has the same numbers. */
enum { MEHARI_OPTION_PARSE_HEADERS = 1, MEHARI_OPTION_SETUP_ENV = 2, MEHARI_OPTION_GLOBAL_REQUEST = 4, MEHARI_OPTION_MERGE_HANDLERS = 8 };

typedef struct {
  uint32_t id;
  AV *handlers[MEHARI_PHASE_COUNT]; /* names as configured; NULL: none */
  AV *variables; /* PerlSetVar and PerlAddVar as name, value, name, value ...; NULL: none */
  /* Custom directives, the outermost section first, as number, line of a .htaccess file or "",
   * number ... NULL: none. */
  AV *containers;
  HV *texts; /* "location" and others; NULL: none */
  HV *documents; /* ErrorDocument: status => path of this server; NULL: none */
  U8 options_on, options_off;
  /* In a server's settings: whether code has changed the configured handlers. */
  bool is_changed[MEHARI_PHASE_COUNT];
  bool runs_phases; /* whether a phase other than the response has handlers */
} mehari_settings;
mehari_settings *mehari_settings_parse(pTHX_ uint32_t id, mehari_text text);
const mehari_settings *mehari_settings_find(pTHX_ uint32_t id, mehari_text text); /* NULL: an empty text */
/* The servers of the configuration by number. Number 0 is the main server. The servers are known
 * before the first preload. During the start `$s->push_handlers` may change their handlers. */
void mehari_server_set_settings(pTHX_ uint32_t number, mehari_text text);
uint32_t mehari_server_count(void);
mehari_settings *mehari_server(uint32_t number); /* NULL: there is none */
/* NULL: the text is not set. */
SV *mehari_settings_text(pTHX_ const mehari_settings *settings, const char *name);

#endif
