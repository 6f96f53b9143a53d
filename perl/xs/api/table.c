/* APR::Table: an object and a tied hash at once, as in mod_perl.
 *
 * The object is a hash tied to an inner object. Both objects hold the table by magic, so a method
 * can be called on either. The table is freed when both objects are freed. */
#include "api/api.h"
#include "interpreter/interpreter.h"
#include "request/record.h"

static HV *table_stash; /* the stash in the server's interpreter */

static HV *stash_of_tables(pTHX)
{
  if (mehari_in_thread(aTHX))
    return gv_stashpvs("APR::Table", GV_ADD);
  if (!table_stash)
    table_stash = gv_stashpvs("APR::Table", GV_ADD);
  return table_stash;
}

void mehari_define(pTHX_ const mehari_sub *subs, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    CV *code = newXS(subs[i].name, subs[i].body, __FILE__);
    CvXSUBANY(code).any_i32 = subs[i].index;
  }
}

/* ---- the object ---- */

static int release(pTHX_ SV *holder, MAGIC *magic)
{
  PERL_UNUSED_ARG(holder);
  PERL_UNUSED_CONTEXT;
  mehari_table_release((mehari_table *)magic->mg_ptr);
  return 0;
}

static void append(mehari_table *into, const mehari_table *from);

/* Copies the table for a new thread. Runs in the new thread's interpreter, in which every holder of
 * the table now holds the copy. */
static int copy(pTHX_ MAGIC *magic, CLONE_PARAMS *parameters)
{
  PERL_UNUSED_ARG(parameters);
  mehari_table *table = ptr_table_fetch(PL_ptr_table, magic->mg_ptr);
  if (!table) {
    table = mehari_table_new();
    append(table, (mehari_table *)magic->mg_ptr);
    table->holders = 0;
    ptr_table_store(PL_ptr_table, magic->mg_ptr, table);
  }
  table->holders++;
  magic->mg_ptr = (char *)table;
  return 0;
}

static MGVTBL holds_table = {NULL, NULL, NULL, NULL, release, NULL, copy, NULL};

static void hold(pTHX_ SV *holder, mehari_table *table)
{
  table->holders++;
  sv_magicext(holder, NULL, PERL_MAGIC_ext, &holds_table, (char *)table, 0)->mg_flags |= MGf_DUP;
}

SV *mehari_table_object(pTHX_ mehari_table *table)
{
  HV *stash = stash_of_tables(aTHX);
  SV *inner = newSV_type(SVt_PVMG);
  hold(aTHX_ inner, table);
  SV *tie = sv_bless(newRV_noinc(inner), stash);
  HV *hash = newHV();
  sv_magic((SV *)hash, tie, PERL_MAGIC_tied, NULL, 0);
  SvREFCNT_dec(tie);
  hold(aTHX_ (SV *)hash, table);
  return sv_bless(newRV_noinc((SV *)hash), stash);
}

/* Whether the hash is as it was made. A hash gets an auxiliary part by an iteration or a weak
 * reference. */
bool mehari_table_is_unshared(pTHX_ SV *object)
{
  SV *hash = SvRV(object);
  MAGIC *tie = mg_find(hash, PERL_MAGIC_tied);
  return SvREFCNT(object) == 1 && SvREFCNT(hash) == 1 && !SvOOK(hash) && SvSTASH(hash) == stash_of_tables(aTHX) && tie && SvREFCNT(SvRV(tie->mg_obj)) == 1;
}

mehari_table *mehari_table_of(pTHX_ SV *object)
{
  MAGIC *magic = SvROK(object) ? mg_findext(SvRV(object), PERL_MAGIC_ext, &holds_table) : NULL;
  if (!magic)
    croak("argument is not an APR::Table object");
  return (mehari_table *)magic->mg_ptr;
}

/* ---- methods ---- */

static bool has_name(const mehari_entry *entry, mehari_text name)
{
  return entry->name_length == name.length && !strncasecmp(entry->name, name.at, name.length);
}

static SV *value_of(pTHX_ const mehari_entry *entry)
{
  return entry ? newSVpvn_flags(entry->value, entry->value_length, SVs_TEMP) : &PL_sv_undef;
}

static void expect_items(pTHX_ CV *cv, int items, int least, int most, const char *usage)
{
  if (items < least || items > most)
    croak_xs_usage(cv, usage);
}

XS_INTERNAL(table_make)
{
  dXSARGS;
  expect_items(aTHX_ cv, items, 2, 3, "pool, nelts");
  mehari_table *table = mehari_table_new();
  ST(0) = sv_2mortal(mehari_table_object(aTHX_ table));
  mehari_table_release(table);
  XSRETURN(1);
}

enum { ADD, SET, MERGE };

XS_INTERNAL(table_store)
{
  dXSARGS;
  dXSI32;
  expect_items(aTHX_ cv, items, 3, 3, "table, key, value");
  mehari_table *table = mehari_table_of(aTHX_ ST(0));
  mehari_text name = mehari_sv_text(aTHX_ ST(1)), value = mehari_sv_text(aTHX_ ST(2));
  if (ix == ADD)
    mehari_table_add(table, name, value);
  else if (ix == SET)
    mehari_table_set(table, name, value);
  else
    mehari_table_merge(table, name, value, ", ");
  XSRETURN_EMPTY;
}

XS_INTERNAL(table_get)
{
  dXSARGS;
  expect_items(aTHX_ cv, items, 2, 2, "table, key");
  mehari_table *table = mehari_table_of(aTHX_ ST(0));
  mehari_text name = mehari_sv_text(aTHX_ ST(1));
  if (GIMME_V != G_LIST) {
    ST(0) = value_of(aTHX_ mehari_table_find(table, name));
    XSRETURN(1);
  }
  SP -= items;
  for (int i = 0; i < table->count; i++)
    if (has_name(&table->entries[i], name))
      XPUSHs(value_of(aTHX_ &table->entries[i]));
  PUTBACK;
}

/* Returns the entry that a key means, because a name may have several entries. A key that an
 * iteration made has the number of its entry, because perl fetches the values of a list after all
 * keys. During `each` every spelling of the name means the current entry. */
static const mehari_entry *entry_at_hand(const mehari_table *table, SV *key, mehari_text name)
{
  int at = SvPOK(key) && SvIOKp(key) && !SvIOK(key) ? (int)SvIVX(key) : table->cursor - 1;
  return at >= 0 && at < table->count && has_name(&table->entries[at], name) ? &table->entries[at] : NULL;
}

static SV *key_of(pTHX_ const mehari_table *table, int at)
{
  const mehari_entry *entry = &table->entries[at];
  SV *key = newSVpvn_flags(entry->name, entry->name_length, SVs_TEMP);
  SvUPGRADE(key, SVt_PVIV);
  SvIV_set(key, at);
  SvIOKp_on(key); /* for entry_at_hand only; the key's text is unchanged */
  return key;
}

XS_INTERNAL(table_fetch)
{
  dXSARGS;
  expect_items(aTHX_ cv, items, 2, 2, "table, key");
  mehari_table *table = mehari_table_of(aTHX_ ST(0));
  mehari_text name = mehari_sv_text(aTHX_ ST(1));
  const mehari_entry *entry = entry_at_hand(table, ST(1), name);
  ST(0) = value_of(aTHX_ entry ? entry : mehari_table_find(table, name));
  XSRETURN(1);
}

XS_INTERNAL(table_exists)
{
  dXSARGS;
  expect_items(aTHX_ cv, items, 2, 2, "table, key");
  ST(0) = boolSV(mehari_table_find(mehari_table_of(aTHX_ ST(0)), mehari_sv_text(aTHX_ ST(1))) != NULL);
  XSRETURN(1);
}

XS_INTERNAL(table_unset)
{
  dXSARGS;
  expect_items(aTHX_ cv, items, 2, 2, "table, key");
  mehari_table_unset(mehari_table_of(aTHX_ ST(0)), mehari_sv_text(aTHX_ ST(1)));
  XSRETURN_EMPTY;
}

XS_INTERNAL(table_clear)
{
  dXSARGS;
  expect_items(aTHX_ cv, items, 1, 1, "table");
  mehari_table_clear(mehari_table_of(aTHX_ ST(0)));
  XSRETURN_EMPTY;
}

/* FIRSTKEY and NEXTKEY: return the name of each entry in turn. A name with several entries is
 * returned several times. */
XS_INTERNAL(table_next)
{
  dXSARGS;
  dXSI32;
  expect_items(aTHX_ cv, items, 1, 2, "table");
  mehari_table *table = mehari_table_of(aTHX_ ST(0));
  if (ix)
    table->cursor = 0;
  if (table->cursor >= table->count) {
    table->cursor = 0;
    XSRETURN_UNDEF;
  }
  ST(0) = key_of(aTHX_ table, table->cursor++);
  XSRETURN(1);
}

/* ---- whole tables ---- */

static void append(mehari_table *into, const mehari_table *from)
{
  for (int i = 0, count = from->count; i < count; i++)
    mehari_table_add(into, (mehari_text){from->entries[i].name, from->entries[i].name_length},
                     (mehari_text){from->entries[i].value, from->entries[i].value_length});
}

/* Leaves one entry for each name, at the place of its first entry. The entry gets the last value,
 * or if `merge` is true all values joined. */
static void compress(mehari_table *table, bool merge)
{
  mehari_table whole = *table;
  table->entries = NULL;
  table->count = table->capacity = table->cursor = 0;
  for (int i = 0; i < whole.count; i++) {
    mehari_text name = {whole.entries[i].name, whole.entries[i].name_length};
    mehari_text value = {whole.entries[i].value, whole.entries[i].value_length};
    if (merge)
      mehari_table_merge(table, name, value, ", ");
    else
      mehari_table_set(table, name, value);
    Safefree(whole.entries[i].name);
  }
  Safefree(whole.entries);
}

XS_INTERNAL(table_copy)
{
  dXSARGS;
  expect_items(aTHX_ cv, items, 1, 2, "table, pool");
  mehari_table *copy = mehari_table_new();
  append(copy, mehari_table_of(aTHX_ ST(0)));
  ST(0) = sv_2mortal(mehari_table_object(aTHX_ copy));
  mehari_table_release(copy);
  XSRETURN(1);
}

XS_INTERNAL(table_overlay)
{
  dXSARGS;
  expect_items(aTHX_ cv, items, 2, 3, "base, overlay, pool");
  const mehari_table *base = mehari_table_of(aTHX_ ST(0)), *overlay = mehari_table_of(aTHX_ ST(1));
  mehari_table *both = mehari_table_new();
  append(both, overlay);
  append(both, base);
  ST(0) = sv_2mortal(mehari_table_object(aTHX_ both));
  mehari_table_release(both);
  XSRETURN(1);
}

XS_INTERNAL(table_overlap)
{
  dXSARGS;
  expect_items(aTHX_ cv, items, 3, 3, "a, b, flags");
  mehari_table *table = mehari_table_of(aTHX_ ST(0));
  append(table, mehari_table_of(aTHX_ ST(1)));
  compress(table, SvIV(ST(2)) == 1);
  XSRETURN_EMPTY;
}

XS_INTERNAL(table_compress)
{
  dXSARGS;
  expect_items(aTHX_ cv, items, 2, 2, "table, flags");
  compress(mehari_table_of(aTHX_ ST(0)), SvIV(ST(1)) == 1);
  XSRETURN_EMPTY;
}

/* ---- do ---- */

static bool call_for(pTHX_ SV *code, const mehari_entry *entry)
{
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  mXPUSHp(entry->name, entry->name_length);
  mXPUSHp(entry->value, entry->value_length);
  PUTBACK;
  int count = call_sv(code, G_SCALAR);
  SPAGAIN;
  bool more = count && SvTRUE(TOPs);
  SP -= count;
  PUTBACK;
  FREETMPS;
  LEAVE;
  return more;
}

/* Whether the entry's name, in the same case, is among the arguments. */
static bool is_wanted(pTHX_ const mehari_entry *entry, SV **names, int count)
{
  for (int i = 0; i < count; i++) {
    mehari_text name = mehari_sv_text(aTHX_ names[i]);
    if (name.length == entry->name_length && memEQ(name.at, entry->name, name.length))
      return true;
  }
  return false;
}

/* do($code, @names): calls the code for each entry, or for the entries with these names, until the
 * code returns false. */
XS_INTERNAL(table_do)
{
  dXSARGS;
  if (items < 2)
    croak_xs_usage(cv, "table, sub, ...");
  mehari_table *table = mehari_table_of(aTHX_ ST(0));
  bool more = true;
  for (int i = 0; more && i < table->count; i++)
    if (items == 2 || is_wanted(aTHX_ &table->entries[i], &ST(2), items - 2))
      more = call_for(aTHX_ ST(1), &table->entries[i]);
  XSRETURN_IV(more);
}

void mehari_table_boot(pTHX)
{
  static const mehari_sub subs[] = {
    {"APR::Table::make", table_make, 0}, {"APR::Table::add", table_store, ADD}, {"APR::Table::set", table_store, SET},
    {"APR::Table::merge", table_store, MERGE}, {"APR::Table::STORE", table_store, SET}, {"APR::Table::get", table_get, 0},
    {"APR::Table::FETCH", table_fetch, 0}, {"APR::Table::EXISTS", table_exists, 0}, {"APR::Table::unset", table_unset, 0},
    {"APR::Table::DELETE", table_unset, 0}, {"APR::Table::clear", table_clear, 0}, {"APR::Table::CLEAR", table_clear, 0},
    {"APR::Table::FIRSTKEY", table_next, 1}, {"APR::Table::NEXTKEY", table_next, 0}, {"APR::Table::copy", table_copy, 0},
    {"APR::Table::overlay", table_overlay, 0}, {"APR::Table::overlap", table_overlap, 0}, {"APR::Table::compress", table_compress, 0},
    {"APR::Table::do", table_do, 0},
  };
  mehari_define(aTHX_ subs, C_ARRAY_LENGTH(subs));
}
