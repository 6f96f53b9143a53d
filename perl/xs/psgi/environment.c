/* Makes the environment of a PSGI request: a hash with shared keys, whose hash values are computed
 * once.
 *
 * Making and freeing forty elements costs more than a small application. A hash that the
 * application does not hold after its request is therefore used for the next request. Everything
 * that the application has put into it is removed first. */
#include "psgi/psgi.h"
#include "api/api.h"
#include "environment/environment.h"
#include "mailbox/mailbox.h"
#include "request/record.h"

/* A variable and its value in the kept hash. NULL: absent. */
typedef struct {
  SV *key;
  U32 hash;
  SV *value;
  UV request; /* the last request that set the variable */
  UV seen; /* the last request after which the variable was still there */
} slot;

enum {
  REQUEST_METHOD, SCRIPT_NAME, PATH_INFO, REQUEST_URI, QUERY_STRING, SERVER_NAME, SERVER_PORT, SERVER_PROTOCOL, REMOTE_ADDR, REMOTE_PORT,
  HTTPS, CONTENT_LENGTH, PSGI_VERSION, URL_SCHEME, INPUT, ERRORS, MULTITHREAD, MULTIPROCESS, RUN_ONCE, NONBLOCKING, STREAMING, INPUT_BUFFERED, HARAKIRI, CLEANUP,
  CLEANUP_HANDLERS, INFORMATIONAL, AFTER_RESPONSE, NAMES
};
static const char *const texts[NAMES] = {
  "REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "REQUEST_URI", "QUERY_STRING", "SERVER_NAME", "SERVER_PORT", "SERVER_PROTOCOL", "REMOTE_ADDR",
  "REMOTE_PORT", "HTTPS", "CONTENT_LENGTH", "psgi.version", "psgi.url_scheme", "psgi.input", "psgi.errors", "psgi.multithread", "psgi.multiprocess",
  "psgi.run_once", "psgi.nonblocking", "psgi.streaming", "psgix.input.buffered", "psgix.harakiri", "psgix.cleanup", "psgix.cleanup.handlers",
  "psgix.informational", "mehari.after_response",
};
static slot slots[NAMES];
static SV *errors, *informational, *after_response; /* the values to which references in the hash point */

/* The number of fields with a slot, the same as in environment/names.c. Other fields are stored
 * without a slot. */
#define FIELDS 128
MEHARI_LARGE static slot fields[FIELDS];
static int field_count;

/* The slots by the address of a shared key's text. The number of places is a power of two. At most
 * half of the places are used, so that each search ends. */
#define PLACES 512
_Static_assert(2 * (NAMES + FIELDS) <= PLACES, "a search for a place may not end");
MEHARI_LARGE static slot *places[PLACES];
static HV *kept, *current;

static slot **place_of(const char *text)
{
  size_t at = PTR2UV(text) / sizeof(void *) * 31 % PLACES;
  while (places[at] && SvPVX(places[at]->key) != text)
    at = (at + 1) % PLACES;
  return &places[at];
}

static void make_slot(slot *this, SV *key, U32 hash)
{
  *this = (slot){.key = key, .hash = hash};
  *place_of(SvPVX(key)) = this;
}

void mehari_psgi_environment_open(pTHX)
{
  for (int i = 0; i < NAMES; i++) {
    STRLEN length = strlen(texts[i]);
    U32 hash;
    PERL_HASH(hash, texts[i], length);
    make_slot(&slots[i], newSVpvn_share(texts[i], length, hash), hash);
  }
  errors = (SV *)gv_fetchpvs("STDERR", GV_ADD, SVt_PVIO);
  informational = (SV *)get_cv("Mehari::PSGI::informational", 0);
  after_response = (SV *)get_cv("Mehari::after_response", 0);
}

static void store(pTHX_ HV *into, slot *this, SV *value)
{
  this->value = value;
  this->request = mehari_psgi_serial;
  (void)hv_store_ent(into, this->key, value, this->hash);
}

static void store_bytes(pTHX_ HV *into, slot *this, const char *at, STRLEN length)
{
  if (!this->value) {
    store(aTHX_ into, this, newSVpvn(at, length));
    return;
  }
  sv_setpvn(this->value, at, length);
  SvUTF8_off(this->value);
  this->request = mehari_psgi_serial;
}

static void store_text(pTHX_ HV *into, int which, int text)
{
  mehari_text value = mehari_request_text(text);
  store_bytes(aTHX_ into, &slots[which], value.at, value.length);
}

static void store_number(pTHX_ HV *into, int which, UV number)
{
  if (slots[which].value)
    sv_setuv(slots[which].value, number);
  else
    store(aTHX_ into, &slots[which], newSVuv(number));
}

/* Stores a truth value. The application may change the value, so each request has its own. */
static void store_truth(pTHX_ HV *into, int which, bool truth)
{
  if (truth)
    store_number(aTHX_ into, which, 1);
  else
    store_bytes(aTHX_ into, &slots[which], "", 0);
}

/* Stores a reference. A reference that was kept still points to the same value, or to no value. */
static void store_reference(pTHX_ HV *into, int which, SV *referent)
{
  SV *value = slots[which].value;
  if (!value)
    store(aTHX_ into, &slots[which], newRV_inc(referent));
  else if (!SvROK(value))
    sv_setsv(value, sv_2mortal(newRV_inc(referent)));
}

/* Stores the handle of the body. To the application each request has a handle of its own. */
static void store_input(pTHX_ HV *into)
{
  SV *input = mehari_psgi_input(aTHX);
  store_reference(aTHX_ into, INPUT, SvRV(input));
  SvREFCNT_dec(input);
}

static SV *version(pTHX)
{
  AV *pair = newAV();
  av_push(pair, newSViv(1));
  av_push(pair, newSViv(1));
  return newRV_noinc((SV *)pair);
}

/* Stores SERVER_PROTOCOL: "HTTP/1.1" in place of HTTP/2, because RFC 3875 section 4.1.16 knows only
 * HTTP/1 and applications compare the value with "HTTP/1.1" to exclude HTTP/1.0. */
static void store_protocol(pTHX_ HV *into)
{
  mehari_text value = mehari_request_text(MEHARI_TEXT_PROTOCOL);
  if (value.length > 5 && value.at[5] != '1')
    value = (mehari_text){"HTTP/1.1", 8};
  store_bytes(aTHX_ into, &slots[SERVER_PROTOCOL], value.at, value.length);
}

static slot *field_slot(SV *key, U32 hash)
{
  slot **place = place_of(SvPVX(key));
  slot *this = !*place && SvIsCOW_shared_hash(key) ? MEHARI_NEXT(fields, field_count) : NULL;
  if (this)
    make_slot(this, key, hash);
  return *place;
}

/* Appends a further value of a field (RFC 9110 section 5.3; for cookies RFC 9113 section 8.2.3). */
static void append(pTHX_ SV *held, mehari_text field, mehari_text value)
{
  bool is_cookie = field.length == 6 && !strncasecmp(field.at, "Cookie", 6);
  if (SvOK(held))
    sv_catpvn(held, is_cookie ? "; " : ", ", 2);
  else
    sv_setpvs(held, "");
  sv_catpvn(held, value.at, value.length);
}

/* Stores a field. The values of a repeated field become one value. */
static void store_field(pTHX_ HV *into, mehari_text field, mehari_text value)
{
  U32 hash = 0;
  SV *key = mehari_environment_key(aTHX_ field.at, field.length, &hash);
  if (!key)
    return;
  slot *this = field_slot(key, hash);
  if (this && this->request != mehari_psgi_serial)
    store_bytes(aTHX_ into, this, value.at, value.length);
  else if (this)
    append(aTHX_ this->value, field, value);
  else {
    HE *entry = hv_fetch_ent(into, key, 1, hash);
    if (entry)
      append(aTHX_ HeVAL(entry), field, value);
  }
}

static void store_fields(pTHX_ HV *into)
{
  for (int i = 0; i < mehari_now.frame->field_count; i++) {
    mehari_text field = mehari_span_text(mehari_now.fields[i].name);
    if (field.length)
      store_field(aTHX_ into, field, mehari_span_text(mehari_now.fields[i].value));
  }
}

/* Stores CONTENT_LENGTH. The body is complete, so its length is known even if it came in chunks. */
static void store_content_length(pTHX_ HV *into)
{
  if (mehari_now.frame->body_kind == MEHARI_BODY_EMPTY || slots[CONTENT_LENGTH].request == mehari_psgi_serial)
    return;
  store_number(aTHX_ into, CONTENT_LENGTH, mehari_now.frame->body_length);
  slots[CONTENT_LENGTH].request = mehari_psgi_serial;
}

static void store_variables(pTHX_ HV *into)
{
  for (int i = 0; i < mehari_now.frame->variable_count; i++) {
    mehari_text variable = mehari_span_text(mehari_now.variables[i].name), value = mehari_span_text(mehari_now.variables[i].value);
    (void)hv_store(into, variable.at, variable.length, newSVpvn(value.at, value.length), 0);
  }
}

static void store_text_of_handlers(pTHX_ HV *into, mehari_rec *rec, int which, const char *name)
{
  if (rec->changed & (1u << which) && rec->texts[which])
    (void)hv_store(into, name, strlen(name), newSVsv(rec->texts[which]), 0);
}

/* Stores `subprocess_env` as the handlers of earlier phases left it, except the request's own
 * values. */
static void store_table(HV *into, const mehari_table *table)
{
  dTHX;
  for (int i = 0; i < table->count; i++) {
    const mehari_entry *entry = &table->entries[i];
    if (!hv_exists(into, entry->name, entry->name_length))
      (void)hv_store(into, entry->name, entry->name_length, newSVpvn(entry->value, entry->value_length), 0);
  }
}

static void store_of_handlers(pTHX_ HV *into)
{
  mehari_rec *rec = mehari_rec_now;
  if (rec->tables[MEHARI_TABLE_SUBPROCESS_ENV].is_filled)
    store_table(into, mehari_rec_table(rec, MEHARI_TABLE_SUBPROCESS_ENV));
  else
    store_variables(aTHX_ into);
  store_text_of_handlers(aTHX_ into, rec, MEHARI_REC_USER, "REMOTE_USER");
  store_text_of_handlers(aTHX_ into, rec, MEHARI_REC_AUTH_TYPE, "AUTH_TYPE");
}

static void forget_values(void)
{
  for (int i = 0; i < NAMES; i++)
    slots[i].value = NULL;
  for (int i = 0; i < field_count; i++)
    fields[i].value = NULL;
}

/* Removes the elements of the earlier request that this request lacks. */
static void drop_stale(pTHX_ HV *from, slot *all, int count)
{
  for (int i = 0; i < count; i++)
    if (all[i].value && all[i].request != mehari_psgi_serial) {
      all[i].value = NULL;
      (void)hv_delete_ent(from, all[i].key, G_DISCARD, all[i].hash);
    }
}

HV *mehari_psgi_environment(pTHX)
{
  HV *into = kept;
  kept = NULL;
  if (!into) {
    forget_values();
    into = newHV();
    hv_ksplit(into, 64);
  }
  current = into;
  store_text(aTHX_ into, REQUEST_METHOD, MEHARI_TEXT_METHOD);
  store_text(aTHX_ into, SCRIPT_NAME, MEHARI_TEXT_SCRIPT_NAME);
  store_text(aTHX_ into, PATH_INFO, MEHARI_TEXT_PATH_INFO);
  store_text(aTHX_ into, REQUEST_URI, MEHARI_TEXT_TARGET);
  store_text(aTHX_ into, QUERY_STRING, MEHARI_TEXT_QUERY);
  store_text(aTHX_ into, SERVER_NAME, MEHARI_TEXT_SERVER_NAME);
  store_number(aTHX_ into, SERVER_PORT, mehari_now.frame->server_port);
  store_protocol(aTHX_ into);
  store_text(aTHX_ into, REMOTE_ADDR, MEHARI_TEXT_REMOTE_ADDR);
  store_number(aTHX_ into, REMOTE_PORT, mehari_now.frame->remote_port);
  store_text(aTHX_ into, URL_SCHEME, MEHARI_TEXT_SCHEME);
  slots[HTTPS].request = 0;
  if (mehari_request_text(MEHARI_TEXT_SCHEME).length == 5)
    store_bytes(aTHX_ into, &slots[HTTPS], "on", 2);
  if (!slots[PSGI_VERSION].value)
    store(aTHX_ into, &slots[PSGI_VERSION], version(aTHX));
  store_input(aTHX_ into);
  store_reference(aTHX_ into, ERRORS, errors);
  store_truth(aTHX_ into, MULTITHREAD, false);
  store_truth(aTHX_ into, MULTIPROCESS, true);
  store_truth(aTHX_ into, RUN_ONCE, false);
  store_truth(aTHX_ into, NONBLOCKING, false);
  store_truth(aTHX_ into, STREAMING, true);
  store_truth(aTHX_ into, INPUT_BUFFERED, true);
  store_truth(aTHX_ into, HARAKIRI, true);
  store_truth(aTHX_ into, CLEANUP, true);
  if (!slots[CLEANUP_HANDLERS].value)
    store(aTHX_ into, &slots[CLEANUP_HANDLERS], newRV_noinc((SV *)newAV()));
  store_reference(aTHX_ into, INFORMATIONAL, informational);
  store_reference(aTHX_ into, AFTER_RESPONSE, after_response);
  slots[CONTENT_LENGTH].request = 0;
  store_fields(aTHX_ into);
  store_content_length(aTHX_ into);
  drop_stale(aTHX_ into, fields, field_count);
  drop_stale(aTHX_ into, &slots[HTTPS], 1);
  drop_stale(aTHX_ into, &slots[CONTENT_LENGTH], 1);
  store_of_handlers(aTHX_ into);
  return into;
}

/* ---- after the request ---- */

/* Whether no other reference to the hash exists, and the hash has no state besides its elements: no
 * iterator or weak reference (SvOOK), class, tie or locked key. */
static bool is_ours_alone(pTHX_ HV *hash)
{
  return SvREFCNT(hash) == 1 && !SvOOK(hash) && !SvMAGICAL(hash) && !SvOBJECT(hash) && !SvREADONLY(hash) && !HvPLACEHOLDERS_get(hash);
}

static bool is_plain(SV *value)
{
  return SvREFCNT(value) == 1 && SvTYPE(value) < SVt_PVMG && !SvREADONLY(value);
}

static bool is_array_of(SV *array, SSize_t count)
{
  return SvREFCNT(array) == 1 && SvTYPE(array) == SVt_PVAV && !SvMAGICAL(array) && !SvOBJECT(array) && !SvREADONLY(array) && AvFILLp((AV *)array) == count - 1;
}

static bool is_version(SV *pair)
{
  if (!is_array_of(pair, 2))
    return false;
  for (int i = 0; i < 2; i++) {
    SV *number = AvARRAY((AV *)pair)[i];
    if (!number || !is_plain(number) || !SvIOK(number) || SvIVX(number) != 1)
      return false;
  }
  return true;
}

/* Whether the value is unchanged and the application does not hold it. */
static bool is_untouched(const slot *this, SV *value)
{
  if (value != this->value || !is_plain(value))
    return false;
  if (this == &slots[INPUT])
    return true;
  if (this == &slots[ERRORS])
    return SvROK(value) && SvRV(value) == errors;
  if (this == &slots[INFORMATIONAL])
    return SvROK(value) && SvRV(value) == informational;
  if (this == &slots[AFTER_RESPONSE])
    return SvROK(value) && SvRV(value) == after_response;
  if (this == &slots[PSGI_VERSION])
    return SvROK(value) && is_version(SvRV(value));
  if (this == &slots[CLEANUP_HANDLERS])
    return SvROK(value) && is_array_of(SvRV(value), 0);
  return !SvROK(value);
}

/* Forgets the values that the application has deleted. */
static void forget_unseen(slot *all, int count)
{
  for (int i = 0; i < count; i++)
    if (all[i].seen != mehari_psgi_serial)
      all[i].value = NULL;
}

/* Removes elements that the application has changed or added. */
static void drop_changed(pTHX_ HV *from)
{
  AV *doomed = NULL;
  for (STRLEN bucket = 0; HvARRAY(from) && bucket <= HvMAX(from); bucket++)
    for (HE *entry = HvARRAY(from)[bucket]; entry; entry = HeNEXT(entry)) {
      slot *this = *place_of(HeKEY(entry));
      if (this && is_untouched(this, HeVAL(entry))) {
        this->seen = mehari_psgi_serial;
        continue;
      }
      if (!doomed)
        doomed = (AV *)sv_2mortal((SV *)newAV());
      av_push(doomed, newSVhek(HeKEY_hek(entry)));
    }
  forget_unseen(slots, NAMES);
  forget_unseen(fields, field_count);
  for (SSize_t i = 0; doomed && i <= AvFILLp(doomed); i++)
    (void)hv_delete_ent(from, AvARRAY(doomed)[i], G_DISCARD, 0);
  if (slots[INPUT].value)
    sv_set_undef(slots[INPUT].value);
}

void mehari_psgi_environment_end(pTHX_ SV *environment)
{
  HV *over = SvROK(environment) ? (HV *)SvREFCNT_inc(SvRV(environment)) : NULL;
  SvREFCNT_dec(environment);
  bool is_keepable = over && over == current && is_ours_alone(aTHX_ over);
  current = NULL;
  if (is_keepable) {
    drop_changed(aTHX_ over);
    /* Destructors may have run meanwhile. */
    if (is_ours_alone(aTHX_ over)) {
      kept = over;
      return;
    }
  }
  SvREFCNT_dec((SV *)over);
}
