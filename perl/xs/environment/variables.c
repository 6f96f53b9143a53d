/* Sets the CGI variables of a request. The values are stored in existing elements of %ENV, whose
 * keys have pins (names.c). */
#include "environment/environment.h"
#include "environment/names.h"
#include "environment/parts.h"
#include "interpreter/perl_internals.h"
#include "request/record.h"

enum {
  GATEWAY_INTERFACE, SERVER_SOFTWARE, SERVER_PROTOCOL, SERVER_NAME, SERVER_ADDR, SERVER_PORT, REMOTE_ADDR, REMOTE_PORT,
  DOCUMENT_ROOT, SCRIPT_FILENAME, SCRIPT_NAME, REQUEST_METHOD, REQUEST_URI, REQUEST_SCHEME, QUERY_STRING, FIXED
};
static const char *const fixed_names[FIXED] = {
  "GATEWAY_INTERFACE", "SERVER_SOFTWARE", "SERVER_PROTOCOL", "SERVER_NAME", "SERVER_ADDR", "SERVER_PORT", "REMOTE_ADDR", "REMOTE_PORT",
  "DOCUMENT_ROOT", "SCRIPT_FILENAME", "SCRIPT_NAME", "REQUEST_METHOD", "REQUEST_URI", "REQUEST_SCHEME", "QUERY_STRING",
};
MEHARI_WRITTEN static mehari_pin fixed[FIXED], path_info, path_translated, https, mod_perl, mod_perl_version;
static mehari_pin *content_length; /* also set as a header field */

MEHARI_WRITTEN_FIRST static mehari_pin *live[MEHARI_FIELD_PINS + 5]; /* the optional variables that are in %ENV now */
MEHARI_WRITTEN static int live_count;
MEHARI_WRITTEN static U32 request;

#define MOD_PERL "mod_perl/2.0.12"

STRLEN mehari_variables_count(void) { return FIXED + live_count; }
void mehari_variables_forget(void) { live_count = 0; }
bool mehari_is_api(pTHX_ SV *key) { return sv_eq(key, mod_perl.key) || sv_eq(key, mod_perl_version.key); }

bool mehari_is_fixed(pTHX_ SV *key)
{
  for (int i = 0; i < FIXED; i++)
    if (sv_eq(fixed[i].key, key))
      return true;
  return false;
}

static void set(pTHX_ HV *env, mehari_pin *this, const char *value, STRLEN length)
{
  this->request = request;
  mehari_environment_store(aTHX_ env, this->key, this->hash, value, length);
}

static void set_text(pTHX_ HV *env, int which, int text)
{
  mehari_text value = mehari_request_text(text);
  set(aTHX_ env, &fixed[which], value.at, value.length);
}

static void set_number(pTHX_ HV *env, int which, unsigned number)
{
  char digits[12];
  char *at = digits + sizeof digits;
  do {
    *--at = '0' + number % 10;
    number /= 10;
  } while (number);
  set(aTHX_ env, &fixed[which], at, digits + sizeof digits - at);
}

static void append(pTHX_ SV *value, const char *name, STRLEN name_length, mehari_text more)
{
  sv_catpvn(value, name_length == 6 && !strncasecmp(name, "Cookie", 6) ? "; " : ", ", 2);
  sv_catpvn(value, more.at, more.length);
}

static void set_loose(pTHX_ HV *env, mehari_text name, mehari_text value)
{
  char variable[512];
  STRLEN length = mehari_variable_name(variable, sizeof variable, name);
  if (!length)
    return;
  SV *key = newSVpvn(variable, length);
  HE *entry = hv_fetch_ent(env, key, 0, 0);
  if (entry)
    append(aTHX_ HeVAL(entry), name.at, name.length, value);
  else
    (void)hv_store_ent(env, key, newSVpvn(value.at, value.length), 0);
  av_push(mehari_loose_names, key);
}

/* Sets an optional variable. The variable is removed again before a request that lacks it. */
static void set_optional(pTHX_ HV *env, mehari_pin *this, const char *value, STRLEN length)
{
  mehari_pin **place = MEHARI_NEXT(live, live_count);
  if (!place)
    return;
  set(aTHX_ env, this, value, length);
  *place = this;
}

/* Whether a field has credentials. They are not passed on, because they are for the server (RFC
 * 3875 section 9.2) and every child process could read them. */
static bool is_credential(mehari_text name)
{
  return (name.length == 13 && !strncasecmp(name.at, "Authorization", 13)) || (name.length == 19 && !strncasecmp(name.at, "Proxy-Authorization", 19));
}

static void set_fields(pTHX_ HV *env)
{
  for (int i = 0; i < mehari_now.frame->field_count; i++) {
    mehari_text name = mehari_span_text(mehari_now.fields[i].name), value = mehari_span_text(mehari_now.fields[i].value);
    if (!name.length || is_credential(name))
      continue;
    mehari_pin *this = mehari_field_pin(aTHX_ name.at, name.length);
    if (!this)
      set_loose(aTHX_ env, name, value);
    else if (this->request == request) {
      HE *entry = hv_fetch_ent(env, this->key, 0, this->hash);
      if (entry)
        append(aTHX_ HeVAL(entry), name.at, name.length, value);
    } else
      set_optional(aTHX_ env, this, value.at, value.length);
  }
}

/* Sets CONTENT_LENGTH. A chunked body has no Content-Length, but the body is complete, so its
 * length is known. */
static void set_content_length(pTHX_ HV *env)
{
  if (mehari_now.frame->body_kind == MEHARI_BODY_EMPTY || content_length->request == request)
    return;
  char digits[24];
  STRLEN count = MEHARI_FORMAT(digits, "%llu", (unsigned long long)mehari_now.frame->body_length);
  set_optional(aTHX_ env, content_length, digits, count);
}

static void set_path_info(pTHX_ HV *env)
{
  mehari_text info = mehari_request_text(MEHARI_TEXT_PATH_INFO);
  if (!info.length)
    return;
  set_optional(aTHX_ env, &path_info, info.at, info.length);
  mehari_text translated = mehari_request_text(MEHARI_TEXT_PATH_TRANSLATED);
  set_optional(aTHX_ env, &path_translated, translated.at, translated.length);
}

static void set_script_filename(pTHX_ HV *env)
{
  bool is_handler = mehari_now.frame->task == MEHARI_TASK_HANDLER;
  set_text(aTHX_ env, SCRIPT_FILENAME, is_handler ? MEHARI_TEXT_FILE : MEHARI_TEXT_TASK);
}

/* A program in a process of its own has no record. */
static bool is_within(void) { return mehari_rec_now ? mehari_rec_is_within(mehari_rec_now) : mehari_now.frame->flags & MEHARI_FLAG_WITHIN; }

static bool is_in_mod_perl(void) { return !(mehari_now.frame->flags & MEHARI_FLAG_CGI_WORLD); }

static void set_request(pTHX_ HV *env)
{
  set(aTHX_ env, &fixed[GATEWAY_INTERFACE], "CGI/1.1", 7);
  set(aTHX_ env, &fixed[SERVER_SOFTWARE], "Mehari/" MEHARI_RELEASE, sizeof("Mehari/" MEHARI_RELEASE) - 1);
  if (is_within())
    set(aTHX_ env, &fixed[SERVER_PROTOCOL], "INCLUDED", 8);
  else
    set_text(aTHX_ env, SERVER_PROTOCOL, MEHARI_TEXT_PROTOCOL);
  set_text(aTHX_ env, SERVER_NAME, MEHARI_TEXT_SERVER_NAME);
  set_text(aTHX_ env, SERVER_ADDR, MEHARI_TEXT_SERVER_ADDR);
  set_number(aTHX_ env, SERVER_PORT, mehari_now.frame->server_port);
  set_text(aTHX_ env, REMOTE_ADDR, MEHARI_TEXT_REMOTE_ADDR);
  set_number(aTHX_ env, REMOTE_PORT, mehari_now.frame->remote_port);
  set_text(aTHX_ env, DOCUMENT_ROOT, MEHARI_TEXT_DOCUMENT_ROOT);
  set_script_filename(aTHX_ env);
  set_text(aTHX_ env, SCRIPT_NAME, MEHARI_TEXT_SCRIPT_NAME);
  set_text(aTHX_ env, REQUEST_METHOD, MEHARI_TEXT_METHOD);
  mehari_text asked = mehari_rec_now ? mehari_rec_asked(mehari_rec_now) : mehari_request_text(MEHARI_TEXT_TARGET);
  set(aTHX_ env, &fixed[REQUEST_URI], asked.at, asked.length);
  set_text(aTHX_ env, REQUEST_SCHEME, MEHARI_TEXT_SCHEME);
  set_text(aTHX_ env, QUERY_STRING, MEHARI_TEXT_QUERY);
  set_path_info(aTHX_ env);
  if (mehari_request_text(MEHARI_TEXT_SCHEME).length == 5)
    set_optional(aTHX_ env, &https, "on", 2);
  set_fields(aTHX_ env);
  set_content_length(aTHX_ env);
  if (is_in_mod_perl()) {
    set_optional(aTHX_ env, &mod_perl, MOD_PERL, sizeof MOD_PERL - 1);
    set_optional(aTHX_ env, &mod_perl_version, "2", 1);
  }
}

/* Removes the last request's optional variables that this request lacks. */
static void drop_optional(pTHX_ HV *env, mehari_pin **before, int count)
{
  for (int i = 0; i < count; i++)
    if (before[i]->request != request)
      (void)hv_delete_ent(env, before[i]->key, G_DISCARD, before[i]->hash);
}

void mehari_variables_set(pTHX_ HV *env)
{
  if (++request == 0)
    request = 1;
  mehari_pin *before[C_ARRAY_LENGTH(live)];
  int before_count = live_count;
  memcpy(before, live, live_count * sizeof *live);
  live_count = 0;
  set_request(aTHX_ env);
  drop_optional(aTHX_ env, before, before_count);
}

void mehari_variables_set_api(pTHX_ HV *env)
{
  mehari_environment_store(aTHX_ env, mod_perl.key, mod_perl.hash, MOD_PERL, sizeof MOD_PERL - 1);
  mehari_environment_store(aTHX_ env, mod_perl_version.key, mod_perl_version.hash, "2", 1);
}

static const char *const usual[] = {"Host", "User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Referer", "Cookie", "Connection", "Content-Type", "Content-Length"};

/* Makes places for common variables. Called in a template, so that the template's children write
 * into existing memory. Places from before the script was compiled would lie on other pages. */
void mehari_environment_reserve(pTHX)
{
  HV *env = GvHVn(PL_envgv);
  U32 magic = SvFLAGS(env) & (SVs_RMG | SVs_SMG | SVs_GMG);
  SvFLAGS(env) &= ~magic;
  for (int i = 0; i < FIXED; i++)
    (void)hv_delete_ent(env, fixed[i].key, G_DISCARD, fixed[i].hash);
  mehari_forget_free_values(aTHX);
  for (int i = 0; i < FIXED; i++) {
    mehari_environment_store(aTHX_ env, fixed[i].key, fixed[i].hash, "", 0);
    SvGROW(HeVAL(hv_fetch_ent(env, fixed[i].key, 0, fixed[i].hash)), 64);
  }
  SvFLAGS(env) |= magic;
  for (size_t i = 0; i < C_ARRAY_LENGTH(usual); i++)
    mehari_field_pin(aTHX_ usual[i], strlen(usual[i]));
}

/* Moves the text of a variable to a new place of malloc. The old place stays allocated. */
static void move_text(pTHX_ HV *env, const mehari_pin *this)
{
  HE *entry = hv_fetch_ent(env, this->key, 0, this->hash);
  SV *value = entry ? HeVAL(entry) : NULL;
  if (value && SvPOK(value) && SvLEN(value) && !SvIsCOW(value) && !SvOOK(value))
    SvPV_set(value, mehari_moved(SvPVX(value), SvCUR(value) + 1, SvLEN(value)));
}

void mehari_environment_move(pTHX)
{
  HV *env = GvHVn(PL_envgv);
  U32 magic = SvFLAGS(env) & (SVs_RMG | SVs_SMG | SVs_GMG);
  SvFLAGS(env) &= ~magic;
  for (int i = 0; i < FIXED; i++)
    move_text(aTHX_ env, &fixed[i]);
  for (int i = 0; i < live_count; i++)
    move_text(aTHX_ env, live[i]);
  SvFLAGS(env) |= magic;
}

static bool is_usual(mehari_text field)
{
  for (size_t i = 0; i < C_ARRAY_LENGTH(usual); i++)
    if (field.length == strlen(usual[i]) && strncasecmp(field.at, usual[i], field.length) == 0)
      return true;
  return false;
}

/* Takes the names from the frame, but no values: the memory of the children would keep them. */
void mehari_environment_expect(pTHX_ const mehari_request *frame)
{
  mehari_job job;
  HV *env = GvHVn(PL_envgv);
  U32 magic = SvFLAGS(env) & (SVs_RMG | SVs_SMG | SVs_GMG);
  mehari_job_read(&job, frame);
  SvFLAGS(env) &= ~magic;
  for (int i = 0; i < frame->field_count; i++) {
    mehari_text name = mehari_job_text(&job, job.fields[i].name);
    mehari_pin *this = is_usual(name) ? mehari_field_pin(aTHX_ name.at, name.length) : NULL;
    if (!this || hv_exists_ent(env, this->key, this->hash))
      continue;
    set_optional(aTHX_ env, this, "", 0);
    HE *entry = hv_fetch_ent(env, this->key, 0, this->hash);
    if (entry)
      SvGROW(HeVAL(entry), 192);
  }
  SvFLAGS(env) |= magic;
}

void mehari_variables_open(pTHX)
{
  for (int i = 0; i < FIXED; i++)
    mehari_pin_make(aTHX_ &fixed[i], fixed_names[i], strlen(fixed_names[i]));
  mehari_pin_make(aTHX_ &path_info, "PATH_INFO", 9);
  mehari_pin_make(aTHX_ &path_translated, "PATH_TRANSLATED", 15);
  mehari_pin_make(aTHX_ &https, "HTTPS", 5);
  mehari_pin_make(aTHX_ &mod_perl, "MOD_PERL", 8);
  mehari_pin_make(aTHX_ &mod_perl_version, "MOD_PERL_API_VERSION", 20);
  content_length = mehari_pin_of_variable(aTHX_ "CONTENT_LENGTH", 14); /* the first field's pin, so there is room */
}
