/* Parses the settings of locations and servers for Perl, and keeps the results. The text of a
 * location's settings has a number, and a process parses each number once. */
#include "phases/settings.h"

const mehari_phase_row mehari_phases[MEHARI_PHASE_COUNT] = {
  [MEHARI_PHASE_POST_READ_REQUEST] = {"PerlPostReadRequestHandler", true},
  [MEHARI_PHASE_TRANS] = {"PerlTransHandler", false},
  [MEHARI_PHASE_MAP_TO_STORAGE] = {"PerlMapToStorageHandler", false},
  [MEHARI_PHASE_HEADER_PARSER] = {"PerlHeaderParserHandler", true},
  [MEHARI_PHASE_ACCESS] = {"PerlAccessHandler", true},
  [MEHARI_PHASE_AUTHEN] = {"PerlAuthenHandler", false},
  [MEHARI_PHASE_AUTHZ] = {"PerlAuthzHandler", false},
  [MEHARI_PHASE_TYPE] = {"PerlTypeHandler", false},
  [MEHARI_PHASE_FIXUP] = {"PerlFixupHandler", true},
  [MEHARI_PHASE_INPUT_FILTER] = {"PerlInputFilterHandler", true},
  [MEHARI_PHASE_OUTPUT_FILTER] = {"PerlOutputFilterHandler", true},
  [MEHARI_PHASE_RESPONSE] = {"PerlResponseHandler", false},
  [MEHARI_PHASE_LOG] = {"PerlLogHandler", true},
  [MEHARI_PHASE_CLEANUP] = {"PerlCleanupHandler", true},
  [MEHARI_PHASE_PRE_CONNECTION] = {"PerlPreConnectionHandler", true},
  [MEHARI_PHASE_PROCESS_CONNECTION] = {"PerlProcessConnectionHandler", false},
  [MEHARI_PHASE_CHILD_INIT] = {"PerlChildInitHandler", true},
  [MEHARI_PHASE_CHILD_EXIT] = {"PerlChildExitHandler", true},
  [MEHARI_PHASE_OPEN_LOGS] = {"PerlOpenLogsHandler", true},
  [MEHARI_PHASE_POST_CONFIG] = {"PerlPostConfigHandler", true},
};

int mehari_phase_named(const char *name, STRLEN length)
{
  /* Accepts mod_perl 1's name PerlHandler, and PerlInitHandler as it is meant inside a section. */
  if (length == 11 && memEQ(name, "PerlHandler", 11))
    return MEHARI_PHASE_RESPONSE;
  if (length == 15 && memEQ(name, "PerlInitHandler", 15))
    return MEHARI_PHASE_HEADER_PARSER;
  for (int phase = 0; phase < MEHARI_PHASE_COUNT; phase++)
    if (strlen(mehari_phases[phase].name) == length && memEQ(mehari_phases[phase].name, name, length))
      return phase;
  return -1;
}

/* Takes the next NUL-ended part of a text. False: there is none. */
static bool part(mehari_text *text, mehari_text *into)
{
  const char *end = memchr(text->at, '\0', text->length);
  if (!end)
    return false;
  *into = (mehari_text){text->at, end - text->at};
  text->length -= into->length + 1;
  text->at = end + 1;
  return true;
}

static void add(pTHX_ AV **list, mehari_text text)
{
  if (!*list)
    *list = newAV();
  av_push(*list, newSVpvn(text.at, text.length));
}

static void add_record(pTHX_ mehari_settings *into, char kind, mehari_text name, mehari_text value)
{
  int phase;
  switch (kind) {
  case 'h':
    phase = mehari_phase_named(name.at, name.length);
    if (phase >= 0) {
      add(aTHX_ &into->handlers[phase], value);
      into->runs_phases |= phase <= MEHARI_PHASE_FIXUP || phase == MEHARI_PHASE_LOG || phase == MEHARI_PHASE_CLEANUP || phase == MEHARI_PHASE_PRE_CONNECTION;
    }
    break;
  case 'v':
    add(aTHX_ &into->variables, name);
    add(aTHX_ &into->variables, value);
    break;
  case 'c':
    add(aTHX_ &into->containers, name);
    add(aTHX_ &into->containers, value);
    break;
  case 'o':
    into->options_on = atoi(name.at);
    into->options_off = atoi(value.at);
    break;
  case 'e':
    if (!into->documents)
      into->documents = newHV();
    (void)hv_store(into->documents, name.at, name.length, newSVpvn(value.at, value.length), 0);
    break;
  case 't':
    if (!into->texts)
      into->texts = newHV();
    (void)hv_store(into->texts, name.at, name.length, newSVpvn(value.at, value.length), 0);
    break;
  }
}

mehari_settings *mehari_settings_parse(pTHX_ uint32_t id, mehari_text text)
{
  mehari_settings *parsed;
  Newxz(parsed, 1, mehari_settings);
  parsed->id = id;
  while (text.length) {
    char kind = *text.at++;
    text.length--;
    mehari_text name, value;
    if (!part(&text, &name) || !part(&text, &value))
      break;
    add_record(aTHX_ parsed, kind, name, value);
  }
  return parsed;
}

const mehari_settings *mehari_settings_find(pTHX_ uint32_t id, mehari_text text)
{
  static mehari_settings *last;
  static HV *known;
  if (!text.length)
    return NULL;
  if (last && last->id == id)
    return last;
  if (!known)
    known = newHV();
  SV **slot = hv_fetch(known, (const char *)&id, sizeof id, 1);
  if (!SvOK(*slot))
    sv_setiv(*slot, PTR2IV(mehari_settings_parse(aTHX_ id, text)));
  return last = INT2PTR(mehari_settings *, SvIV(*slot));
}

/* ---- servers ---- */

static mehari_settings **servers;
static uint32_t server_count;

void mehari_server_set_settings(pTHX_ uint32_t number, mehari_text text)
{
  if (number > UINT16_MAX)
    return;
  if (number >= server_count) {
    Renew(servers, number + 1, mehari_settings *);
    Zero(servers + server_count, number + 1 - server_count, mehari_settings *);
    server_count = number + 1;
  }
  servers[number] = mehari_settings_parse(aTHX_ number, text);
}

uint32_t mehari_server_count(void) { return server_count; }

mehari_settings *mehari_server(uint32_t number) { return number < server_count ? servers[number] : NULL; }

SV *mehari_settings_text(pTHX_ const mehari_settings *settings, const char *name)
{
  SV **found = settings && settings->texts ? hv_fetch(settings->texts, name, strlen(name), 0) : NULL;
  return found ? *found : NULL;
}
