/* The environment of a PSGI request: a fresh hash, filled with shared keys whose hashes are known. */
#include "psgi.h"

typedef struct {
  SV *key;
  U32 hash;
} name;

enum {
  REQUEST_METHOD, SCRIPT_NAME, PATH_INFO, REQUEST_URI, QUERY_STRING, SERVER_NAME, SERVER_PORT, SERVER_PROTOCOL, REMOTE_ADDR, REMOTE_PORT,
  HTTPS, PSGI_VERSION, URL_SCHEME, INPUT, ERRORS, MULTITHREAD, MULTIPROCESS, RUN_ONCE, NONBLOCKING, STREAMING, INPUT_BUFFERED, HARAKIRI, CLEANUP,
  CLEANUP_HANDLERS, INFORMATIONAL, NAMES
};
static const char *const texts[NAMES] = {
  "REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "REQUEST_URI", "QUERY_STRING", "SERVER_NAME", "SERVER_PORT", "SERVER_PROTOCOL", "REMOTE_ADDR",
  "REMOTE_PORT", "HTTPS", "psgi.version", "psgi.url_scheme", "psgi.input", "psgi.errors", "psgi.multithread", "psgi.multiprocess",
  "psgi.run_once", "psgi.nonblocking", "psgi.streaming", "psgix.input.buffered", "psgix.harakiri", "psgix.cleanup", "psgix.cleanup.handlers",
  "psgix.informational",
};
static name names[NAMES];
static SV *errors, *informational; /* referents */

void mehari_psgi_environment_open(pTHX)
{
  for (int i = 0; i < NAMES; i++) {
    STRLEN length = strlen(texts[i]);
    PERL_HASH(names[i].hash, texts[i], length);
    names[i].key = newSVpvn_share(texts[i], length, names[i].hash);
  }
  errors = (SV *)gv_fetchpvs("STDERR", GV_ADD, SVt_PVIO);
  informational = (SV *)get_cv("Mehari::PSGI::informational", 0);
}

static void store(pTHX_ HV *into, int which, SV *value)
{
  (void)hv_store_ent(into, names[which].key, value, names[which].hash);
}

static void store_text(pTHX_ HV *into, int which, int text)
{
  mehari_text value = mehari_request_text(text);
  store(aTHX_ into, which, newSVpvn(value.at, value.length));
}

/* The values are the application's to change, so each request has its own. */
static void store_truth(pTHX_ HV *into, int which, bool truth)
{
  store(aTHX_ into, which, truth ? newSViv(1) : newSVpvn("", 0));
}

static SV *version(pTHX)
{
  AV *pair = newAV();
  av_push(pair, newSViv(1));
  av_push(pair, newSViv(1));
  return newRV_noinc((SV *)pair);
}

/* RFC 3875 4.1.16 knows HTTP/1; applications compare with "HTTP/1.1" and mean "not 1.0". */
static SV *protocol(pTHX)
{
  mehari_text value = mehari_request_text(MEHARI_TEXT_PROTOCOL);
  if (value.length > 5 && value.at[5] != '1')
    return newSVpvn("HTTP/1.1", 8);
  return newSVpvn(value.at, value.length);
}

/* A field that came more than once is one value: RFC 9110 5.3, and for cookies RFC 9113 8.2.3. */
static void store_field(pTHX_ HV *into, mehari_text field, mehari_text value)
{
  U32 hash = 0;
  SV *key = mehari_environment_key(aTHX_ field.at, field.length, &hash);
  if (!key)
    return;
  HE *entry = hv_fetch_ent(into, key, 1, hash);
  if (!entry)
    return;
  SV *held = HeVAL(entry);
  bool is_cookie = field.length == 6 && !strncasecmp(field.at, "Cookie", 6);
  if (SvOK(held))
    sv_catpvn(held, is_cookie ? "; " : ", ", 2);
  else
    sv_setpvs(held, "");
  sv_catpvn(held, value.at, value.length);
}

static void store_fields(pTHX_ HV *into)
{
  for (int i = 0; i < mehari_now.frame->field_count; i++) {
    mehari_text field = mehari_span_text(mehari_now.fields[i].name);
    if (field.length)
      store_field(aTHX_ into, field, mehari_span_text(mehari_now.fields[i].value));
  }
}

static void store_variables(pTHX_ HV *into)
{
  for (int i = 0; i < mehari_now.frame->variable_count; i++) {
    mehari_text variable = mehari_span_text(mehari_now.variables[i].name), value = mehari_span_text(mehari_now.variables[i].value);
    (void)hv_store(into, variable.at, variable.length, newSVpvn(value.at, value.length), 0);
  }
}

HV *mehari_psgi_environment(pTHX)
{
  HV *into = newHV();
  hv_ksplit(into, 64);
  store_text(aTHX_ into, REQUEST_METHOD, MEHARI_TEXT_METHOD);
  store_text(aTHX_ into, SCRIPT_NAME, MEHARI_TEXT_SCRIPT_NAME);
  store_text(aTHX_ into, PATH_INFO, MEHARI_TEXT_PATH_INFO);
  store_text(aTHX_ into, REQUEST_URI, MEHARI_TEXT_TARGET);
  store_text(aTHX_ into, QUERY_STRING, MEHARI_TEXT_QUERY);
  store_text(aTHX_ into, SERVER_NAME, MEHARI_TEXT_SERVER_NAME);
  store(aTHX_ into, SERVER_PORT, newSVuv(mehari_now.frame->server_port));
  store(aTHX_ into, SERVER_PROTOCOL, protocol(aTHX));
  store_text(aTHX_ into, REMOTE_ADDR, MEHARI_TEXT_REMOTE_ADDR);
  store(aTHX_ into, REMOTE_PORT, newSVuv(mehari_now.frame->remote_port));
  store_text(aTHX_ into, URL_SCHEME, MEHARI_TEXT_SCHEME);
  if (mehari_request_text(MEHARI_TEXT_SCHEME).length == 5)
    store(aTHX_ into, HTTPS, newSVpvs("on"));
  store(aTHX_ into, PSGI_VERSION, version(aTHX));
  store(aTHX_ into, INPUT, mehari_psgi_input(aTHX));
  store(aTHX_ into, ERRORS, newRV_inc(errors));
  store_truth(aTHX_ into, MULTITHREAD, false);
  store_truth(aTHX_ into, MULTIPROCESS, true);
  store_truth(aTHX_ into, RUN_ONCE, false);
  store_truth(aTHX_ into, NONBLOCKING, false);
  store_truth(aTHX_ into, STREAMING, true);
  store_truth(aTHX_ into, INPUT_BUFFERED, true);
  store_truth(aTHX_ into, HARAKIRI, true);
  store_truth(aTHX_ into, CLEANUP, true);
  store(aTHX_ into, CLEANUP_HANDLERS, newRV_noinc((SV *)newAV()));
  store(aTHX_ into, INFORMATIONAL, newRV_inc(informational));
  store_fields(aTHX_ into);
  store_variables(aTHX_ into);
  return into;
}
