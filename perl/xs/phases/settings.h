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
/* The servers of the configuration by number; 0 is the main server. Known before anything is
 * preloaded. `$s->push_handlers` may change their handlers during the start. */
void mehari_server_told(pTHX_ uint32_t number, mehari_text text);
uint32_t mehari_server_count(void);
mehari_settings *mehari_server(uint32_t number); /* NULL: there is none */
SV *mehari_settings_text(pTHX_ const mehari_settings *settings, const char *name); /* NULL: not said */

#endif
