/* %ENV: the CGI variables of a request, stored in place in pinned elements (names.c).
 *
 * Our stores do not change C's environ, because that costs a microsecond each. Before a child
 * process starts, system.c rebuilds environ from %ENV. */
#include "environment/environment.h"
#include "environment/names.h"
#include "api/api.h"
#include "mailbox/mailbox.h"
#include "request/record.h"

enum {
  GATEWAY_INTERFACE, SERVER_SOFTWARE, SERVER_PROTOCOL, SERVER_NAME, SERVER_ADDR, SERVER_PORT, REMOTE_ADDR, REMOTE_PORT,
  DOCUMENT_ROOT, SCRIPT_FILENAME, SCRIPT_NAME, REQUEST_METHOD, REQUEST_URI, REQUEST_SCHEME, QUERY_STRING, FIXED
};
static const char *const fixed_names[FIXED] = {
  "GATEWAY_INTERFACE", "SERVER_SOFTWARE", "SERVER_PROTOCOL", "SERVER_NAME", "SERVER_ADDR", "SERVER_PORT", "REMOTE_ADDR", "REMOTE_PORT",
  "DOCUMENT_ROOT", "SCRIPT_FILENAME", "SCRIPT_NAME", "REQUEST_METHOD", "REQUEST_URI", "REQUEST_SCHEME", "QUERY_STRING",
};
static mehari_pin fixed[FIXED], path_info, path_translated, https, mod_perl, mod_perl_version;
static mehari_pin *content_length; /* also set as a header field */

static mehari_pin *live[MEHARI_FIELD_PINS + 5]; /* the optional variables that are in %ENV now */
static int live_count;

/* The variables that the worker itself passes on: PATH, TZ, PerlPassEnv. */
static struct { SV *key, *value; U32 hash; } *base;
static int base_count;
static STRLEN own_base; /* how many of `base` no request sets */
static AV *loose; /* names of this request that have no pin */
static U32 request;

static bool is_plain(SV *value)
{
  return SvREFCNT(value) == 1 && SvTYPE(value) >= SVt_PV && SvTYPE(value) <= SVt_PVMG && !SvROK(value) && !SvREADONLY(value) && !SvIsCOW(value);
}

static void store(pTHX_ HV *env, SV *key, U32 hash, const char *value, STRLEN length)
{
  HE *entry = hv_fetch_ent(env, key, 0, hash);
  if (entry && is_plain(HeVAL(entry))) {
    sv_setpvn(HeVAL(entry), value, length);
    SvUTF8_off(HeVAL(entry));
    SvTAINTED_off(HeVAL(entry));
  } else
    entry = hv_store_ent(env, key, newSVpvn(value, length), hash);
  if (TAINTING_get && entry)
    SvTAINTED_on(HeVAL(entry));
}

static void set(pTHX_ HV *env, mehari_pin *this, const char *value, STRLEN length)
{
  this->request = request;
  store(aTHX_ env, this->key, this->hash, value, length);
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
  av_push(loose, key);
}

/* Sets an optional variable. It is removed again before a request that lacks it. */
static void set_optional(pTHX_ HV *env, mehari_pin *this, const char *value, STRLEN length)
{
  mehari_pin **place = MEHARI_NEXT(live, live_count);
  if (!place)
    return;
  set(aTHX_ env, this, value, length);
  *place = this;
}

/* Credentials are for the server (RFC 3875 section 9.2), and every child process could read
 * them. */
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

/* A chunked body has no Content-Length, but it is complete, so its length is known. */
static void set_content_length(pTHX_ HV *env)
{
  if (mehari_now.frame->body_kind == MEHARI_BODY_EMPTY || content_length->request == request)
    return;
  char digits[24];
  STRLEN count = MEHARI_FORMAT(digits, "%llu", (unsigned long long)mehari_now.frame->body_length);
  set_optional(aTHX_ env, content_length, digits, count);
}

void mehari_environment_set(pTHX_ mehari_text name, mehari_text value)
{
  SV *key = newSVpvn(name.at, name.length);
  (void)hv_store_ent(GvHVn(PL_envgv), key, newSVpvn(value.at, value.length), 0);
  av_push(loose, key);
}

static void set_variables(pTHX_ HV *env)
{
  for (int i = 0; i < mehari_now.frame->variable_count; i++) {
    mehari_text name = mehari_span_text(mehari_now.variables[i].name), value = mehari_span_text(mehari_now.variables[i].value);
    SV *key = newSVpvn(name.at, name.length);
    (void)hv_store_ent(env, key, newSVpvn(value.at, value.length), 0);
    av_push(loose, key);
  }
}

/* Removes the last request's optional variables that this request lacks. */
static void drop_optional(pTHX_ HV *env, mehari_pin **before, int count)
{
  for (int i = 0; i < count; i++)
    if (before[i]->request != request)
      (void)hv_delete_ent(env, before[i]->key, G_DISCARD, before[i]->hash);
}

/* Removes the last request's names without a pin. */
static void drop_loose(pTHX_ HV *env)
{
  SSize_t last = av_top_index(loose);
  for (SSize_t i = 0; i <= last; i++)
    (void)hv_delete_ent(env, AvARRAY(loose)[i], G_DISCARD, 0);
  if (last >= 0)
    av_clear(loose);
}

static void drop_foreign(pTHX_ HV *env)
{
  AV *foreign = newAV();
  hv_iterinit(env);
  HE *entry;
  while ((entry = hv_iternext(env))) {
    SV *key = hv_iterkeysv(entry);
    bool ours = false;
    for (int i = 0; i < base_count && !ours; i++)
      ours = sv_eq(base[i].key, key);
    for (int i = 0; i < FIXED && !ours; i++)
      ours = sv_eq(fixed[i].key, key);
    if (!ours)
      av_push(foreign, SvREFCNT_inc_NN(key));
  }
  for (SSize_t i = 0; i <= av_top_index(foreign); i++) {
    my_setenv(SvPV_nolen(AvARRAY(foreign)[i]), NULL);
    (void)hv_delete_ent(env, AvARRAY(foreign)[i], G_DISCARD, 0);
  }
  SvREFCNT_dec((SV *)foreign);
  live_count = 0;
}

static bool is_bare; /* %ENV has no variable of a request, except `PerlSetEnv` of its place */
/* %ENV also lacks the variables by which programs detect mod_perl's API. */
static bool is_without_api;
/* The variables that handlers before the response have stored in %ENV; NULL: no handler has ever
 * stored one. */
static mehari_table *early;

/* PATH, TZ and the like: restored with magic after a script changed them, because C libraries
 * read them too. */
static void store_base(pTHX_ HV *env)
{
  for (int i = 0; i < base_count; i++) {
    HE *entry = hv_fetch_ent(env, base[i].key, 0, base[i].hash);
    if (entry && SvPOK(HeVAL(entry)) && sv_eq(HeVAL(entry), base[i].value))
      continue;
    STRLEN length;
    const char *value = SvPV(base[i].value, length);
    store(aTHX_ env, base[i].key, base[i].hash, value, length);
    my_setenv(SvPV_nolen(base[i].key), value);
  }
}

static void set_path_info(pTHX_ HV *env)
{
  mehari_text info = mehari_request_text(MEHARI_TEXT_PATH_INFO);
  if (!info.length)
    return;
  set_optional(aTHX_ env, &path_info, info.at, info.length);
  mehari_text root = mehari_request_text(MEHARI_TEXT_DOCUMENT_ROOT);
  SV *translated = newSVpvn(root.at, root.length);
  sv_catpvn(translated, info.at, info.length);
  set_optional(aTHX_ env, &path_translated, SvPVX(translated), SvCUR(translated));
  SvREFCNT_dec(translated);
}

/* A handler has no file. Its path is the URL's path below the document root. */
static void set_script_filename(pTHX_ HV *env)
{
  mehari_text task = mehari_request_text(MEHARI_TEXT_TASK);
  if (mehari_now.frame->task != MEHARI_TASK_HANDLER) {
    set(aTHX_ env, &fixed[SCRIPT_FILENAME], task.at, task.length);
    return;
  }
  mehari_text root = mehari_request_text(MEHARI_TEXT_DOCUMENT_ROOT), name = mehari_request_text(MEHARI_TEXT_SCRIPT_NAME);
  SV *path = newSVpvn(root.at, root.length);
  sv_catpvn(path, name.at, name.length);
  set(aTHX_ env, &fixed[SCRIPT_FILENAME], SvPVX(path), SvCUR(path));
  SvREFCNT_dec(path);
}

/* Variables by which programs detect mod_perl's API. */
#define MOD_PERL "mod_perl/2.0.12"
static bool is_in_mod_perl(void) { return !(mehari_now.frame->flags & MEHARI_FLAG_CGI_WORLD); }

static void set_request(pTHX_ HV *env)
{
  set(aTHX_ env, &fixed[GATEWAY_INTERFACE], "CGI/1.1", 7);
  set(aTHX_ env, &fixed[SERVER_SOFTWARE], "Mehari/" MEHARI_RELEASE, sizeof("Mehari/" MEHARI_RELEASE) - 1);
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
  set_text(aTHX_ env, REQUEST_URI, MEHARI_TEXT_TARGET);
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

void mehari_environment_begin(pTHX)
{
  mehari_environment_restore();
  HV *env = GvHVn(PL_envgv);
  U32 magic = SvFLAGS(env) & (SVs_RMG | SVs_SMG | SVs_GMG);
  SvFLAGS(env) &= ~magic;
  if (++request == 0)
    request = 1;
  drop_loose(aTHX_ env);
  mehari_pin *before[C_ARRAY_LENGTH(live)];
  int before_count = live_count;
  memcpy(before, live, live_count * sizeof *live);
  live_count = 0;
  store_base(aTHX_ env);
  set_request(aTHX_ env);
  drop_optional(aTHX_ env, before, before_count);
  /* The count covers all of our variables. A higher number means that the script has stored a
   * variable. */
  if (HvUSEDKEYS(env) != own_base + FIXED + live_count + (STRLEN)(av_top_index(loose) + 1)) {
    drop_foreign(aTHX_ env);
    request++;
    set_request(aTHX_ env);
  }
  set_variables(aTHX_ env);
  is_bare = is_without_api = false;
  SvFLAGS(env) |= magic;
}

bool mehari_environment_is_bare(void) { return is_bare; }

void mehari_environment_into(pTHX_ mehari_table *table, bool set_up)
{
  if (set_up && is_bare) {
    mehari_environment_begin(aTHX);
    for (int i = 0; i < table->count; i++)
      mehari_environment_set(aTHX_ (mehari_text){table->entries[i].name, table->entries[i].name_length},
                             (mehari_text){table->entries[i].value, table->entries[i].value_length});
  }
  HV *env = GvHVn(PL_envgv);
  hv_iterinit(env);
  HE *entry;
  while ((entry = hv_iternext(env))) {
    STRLEN length;
    const char *name = HePV(entry, length);
    mehari_text key = {name, length}, value;
    bool is_passed_on = false;
    for (int i = 0; i < base_count && !is_passed_on; i++)
      is_passed_on = sv_eq(base[i].key, hv_iterkeysv(entry));
    /* As in mod_perl: values stored in %ENV before the response are only in %ENV. */
    bool is_early = early && mehari_table_find(early, key);
    if (is_passed_on || is_early || mehari_table_find(table, key) || !SvOK(HeVAL(entry)))
      continue;
    value.at = SvPV_nomg(HeVAL(entry), value.length);
    mehari_table_add(table, key, value);
  }
}

static bool is_as_forgotten(pTHX_ HV *env, bool without_api)
{
  STRLEN expected = base_count + (without_api ? 0 : 2);
  return is_bare && is_without_api == without_api && av_top_index(loose) < 0 && HvUSEDKEYS(env) == expected;
}

/* Sets the variables of the place's `PerlSetEnv`. Those of the server are already set. */
static void set_place(pTHX_ HV *env, const mehari_job *place)
{
  const mehari_request *frame = place->frame;
  int end = frame->set_env_count + frame->perl_set_env_count;
  for (int i = frame->set_env_count; i < end && i < frame->variable_count; i++) {
    mehari_text name = mehari_job_text(place, place->variables[i].name), value = mehari_job_text(place, place->variables[i].value);
    SV **known = hv_fetch(env, name.at, name.length, 0);
    if (!known || !SvPOK(*known) || SvCUR(*known) != value.length || memNE(SvPVX(*known), value.at, value.length))
      mehari_environment_set(aTHX_ name, value);
  }
}

static void forget(pTHX_ bool without_api, const mehari_job *place)
{
  HV *env = GvHVn(PL_envgv);
  U32 magic = SvFLAGS(env) & (SVs_RMG | SVs_SMG | SVs_GMG);
  SvFLAGS(env) &= ~magic;
  bool is_clean = is_as_forgotten(aTHX_ env, without_api);
  if (!is_clean) {
    hv_clear(env);
    av_clear(loose);
    live_count = 0;
  }
  store_base(aTHX_ env);
  if (!is_clean && !without_api) {
    store(aTHX_ env, mod_perl.key, mod_perl.hash, MOD_PERL, sizeof MOD_PERL - 1);
    store(aTHX_ env, mod_perl_version.key, mod_perl_version.hash, "2", 1);
  }
  if (place)
    set_place(aTHX_ env, place);
  is_bare = true;
  is_without_api = without_api;
  SvFLAGS(env) |= magic;
}

/* Before a handler without `SetupEnv`: %ENV has the server's variables and the place's
 * `PerlSetEnv`, but no variable of the request. */
void mehari_environment_forget(pTHX_ const mehari_job *place) { forget(aTHX_ false, place); }

/* Before a PSGI application: the same, without the variables of mod_perl's API, because modules
 * would try to use the API. */
void mehari_environment_of_process(pTHX) { forget(aTHX_ true, NULL); }

/* ---- values that handlers store in %ENV before the response ---- */

const mehari_table *mehari_environment_early(void) { return early; }

void mehari_environment_forget_early(void)
{
  if (early)
    mehari_table_clear(early);
}

static bool is_base(pTHX_ SV *key, SV *value)
{
  for (int i = 0; i < base_count; i++)
    if (sv_eq(base[i].key, key))
      return !value || sv_eq(base[i].value, value);
  return false;
}

static bool is_known(pTHX_ SV *key, SV *value)
{
  if (is_base(aTHX_ key, value) || sv_eq(key, mod_perl.key) || sv_eq(key, mod_perl_version.key))
    return true;
  for (SSize_t i = 0; i <= av_top_index(loose); i++)
    if (sv_eq(AvARRAY(loose)[i], key))
      return true;
  return false;
}

void mehari_environment_note_early(pTHX)
{
  HV *env = GvHVn(PL_envgv);
  HE *entry;
  if (!is_bare)
    return;
  hv_iterinit(env);
  while ((entry = hv_iternext(env))) {
    SV *key = hv_iterkeysv(entry), *value = HeVAL(entry);
    mehari_text name, text;
    if (!SvOK(value) || is_known(aTHX_ key, value))
      continue;
    name.at = SvPV(key, name.length);
    text.at = SvPV_nomg(value, text.length);
    if (!early)
      early = mehari_table_new();
    mehari_table_set(early, name, text);
  }
}

/* Restores the early variables. The request's own variable of a name has precedence. */
void mehari_environment_set_early(pTHX)
{
  HV *env = GvHVn(PL_envgv);
  for (int i = 0; early && i < early->count; i++) {
    mehari_text name = {early->entries[i].name, early->entries[i].name_length};
    SV *key = sv_2mortal(newSVpvn(name.at, name.length));
    if (is_base(aTHX_ key, NULL) || !hv_exists_ent(env, key, 0))
      mehari_environment_set(aTHX_ name, (mehari_text){early->entries[i].value, early->entries[i].value_length});
  }
}

void mehari_environment_without_request(pTHX)
{
  forget(aTHX_ false, NULL);
  if (!mehari_now.frame->variable_count)
    return;
  set_variables(aTHX_ GvHVn(PL_envgv));
  is_bare = is_without_api = false;
}

/* Called in a template, so that its children write into existing memory. */
void mehari_environment_reserve(pTHX)
{
  static const char *const usual[] = {"Host", "User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Referer", "Cookie", "Connection", "Content-Type", "Content-Length"};
  HV *env = GvHVn(PL_envgv);
  U32 magic = SvFLAGS(env) & (SVs_RMG | SVs_SMG | SVs_GMG);
  SvFLAGS(env) &= ~magic;
  for (int i = 0; i < FIXED; i++) {
    store(aTHX_ env, fixed[i].key, fixed[i].hash, "", 0);
    SvGROW(HeVAL(hv_fetch_ent(env, fixed[i].key, 0, fixed[i].hash)), 64);
  }
  SvFLAGS(env) |= magic;
  for (size_t i = 0; i < C_ARRAY_LENGTH(usual); i++)
    mehari_field_pin(aTHX_ usual[i], strlen(usual[i]));
}

/* Called once per worker, after the fork. %ENV holds only the variables to pass on. */
void mehari_environment_open(pTHX)
{
  HV *env = GvHVn(PL_envgv);
  for (int i = 0; i < FIXED; i++)
    mehari_pin_make(aTHX_ &fixed[i], fixed_names[i], strlen(fixed_names[i]));
  mehari_pin_make(aTHX_ &path_info, "PATH_INFO", 9);
  mehari_pin_make(aTHX_ &path_translated, "PATH_TRANSLATED", 15);
  mehari_pin_make(aTHX_ &https, "HTTPS", 5);
  mehari_pin_make(aTHX_ &mod_perl, "MOD_PERL", 8);
  mehari_pin_make(aTHX_ &mod_perl_version, "MOD_PERL_API_VERSION", 20);
  content_length = mehari_pin_of_variable(aTHX_ "CONTENT_LENGTH", 14); /* the first of them, so there is room */
  loose = newAV();
  int count = hv_iterinit(env);
  Newx(base, count, __typeof__(*base));
  HE *entry;
  while (base_count < count && (entry = hv_iternext(env))) {
    STRLEN length;
    const char *name = HePV(entry, length);
    U32 hash;
    PERL_HASH(hash, name, length);
    base[base_count].key = newSVpvn_share(name, length, hash);
    base[base_count].hash = hash;
    base[base_count].value = newSVsv(HeVAL(entry));
    bool is_fixed = false;
    for (int i = 0; i < FIXED && !is_fixed; i++)
      is_fixed = sv_eq(fixed[i].key, base[base_count].key);
    own_base += !is_fixed;
    base_count++;
  }
}
