/* Gives Perl the store of Mehari::State and Mehari::Cache. The object holds the address of a
 * mehari_store. Keys and values are byte strings. Mehari::State::Redis has the same methods. */
#include "store.h"
#define PERL_NO_GET_CONTEXT
#include "EXTERN.h"
#include "perl.h"
#include "XSUB.h"
#include <fcntl.h>
#include <time.h>

static mehari_store *store_of(pTHX_ SV *handle)
{
  if (!SvROK(handle) || !SvIOK(SvRV(handle)))
    croak("Mehari::State: not a store");
  return INT2PTR(mehari_store *, SvIVX(SvRV(handle)));
}

static store_text text_of(pTHX_ SV *value)
{
  STRLEN length;
  if (SvUTF8(value)) {
    value = sv_mortalcopy(value);
    if (!sv_utf8_downgrade(value, TRUE))
      croak("Mehari::State: a wide character (above 255) in a key or value: encode it first");
  }
  const char *at = SvPV(value, length);
  return (store_text){ at, length };
}

static void croak_of(pTHX_ mehari_store *store) { croak("Mehari::State: %s", store->problem); }

/* An operation on a hash. It takes the lock of the hash's name, unless the process holds this lock
 * already (`held`). */
typedef struct { mehari_store *store; store_text name; bool held; } operation;

static operation begin(pTHX_ SV *handle, SV *name, bool held, short kind)
{
  operation this = { store_of(aTHX_ handle), text_of(aTHX_ name), held };
  if (!held && !store_lock_name(this.store, this.name, kind, true))
    croak_of(aTHX_ this.store);
  if (store_enter(this.store))
    return this;
  if (!held) {
    char problem[sizeof this.store->problem];
    memcpy(problem, this.store->problem, sizeof problem);
    store_lock_name(this.store, this.name, F_UNLCK, false);
    memcpy(this.store->problem, problem, sizeof problem);
  }
  croak_of(aTHX_ this.store);
  return this;
}

static void end(pTHX_ operation this, bool done)
{
  store_leave(this.store);
  if (!this.held)
    store_lock_name(this.store, this.name, F_UNLCK, false);
  if (!done)
    croak_of(aTHX_ this.store);
}

typedef struct { PerlInterpreter *perl; AV *keys; UV bytes, count; } gathering;

static bool add_key(void *with, store_record *record)
{
  gathering *found = with;
  dTHXa(found->perl);
  av_push(found->keys, newSVpvn(record->bytes, record->key_length));
  return true;
}

static bool add_size(void *with, store_record *record)
{
  gathering *found = with;
  found->count++;
  found->bytes += record->key_length + record->value_length;
  return true;
}

static bool current(const store_record *record) { return record && (!record->expires || record->expires > (uint32_t)time(NULL)); }

MODULE = Mehari::State    PACKAGE = Mehari::State::Store

PROTOTYPES: DISABLE

SV *
open(const char *path, int flags, unsigned mode, UV limit, bool drop_by_age)
  PREINIT:
    char problem[640];
  CODE:
    mehari_store *store = store_open(path, flags, mode, limit, drop_by_age, problem, sizeof problem);
    if (!store)
      croak("Mehari::State: %s", problem);
    if (store->damaged) {
      warn("Mehari::State: %s: %lu damaged records are left out", store->path, (unsigned long)store->damaged);
      store->damaged = 0;
    }
    RETVAL = sv_setref_iv(newSV(0), "Mehari::State::Store", PTR2IV(store));
  OUTPUT:
    RETVAL

void
get(SV *handle, SV *name, SV *key, bool held)
  PPCODE:
    store_text its_key = text_of(aTHX_ key);
    operation this = begin(aTHX_ handle, name, held, F_RDLCK);
    store_record *record = table_entry(this.store, this.name, its_key);
    bool failed = !record && this.store->problem[0];
    SV *value = current(record) ? newSVpvn_flags(record->bytes + record->key_length, record->value_length, SVs_TEMP) : NULL;
    end(aTHX_ this, !failed);
    if (value)
      XPUSHs(value);
    else
      XSRETURN_UNDEF;

bool
has(SV *handle, SV *name, SV *key, bool held)
  CODE:
    store_text its_key = text_of(aTHX_ key);
    operation this = begin(aTHX_ handle, name, held, F_RDLCK);
    store_record *record = table_entry(this.store, this.name, its_key);
    bool failed = !record && this.store->problem[0];
    RETVAL = current(record);
    end(aTHX_ this, !failed);
  OUTPUT:
    RETVAL

void
put(SV *handle, SV *name, SV *key, SV *value, bool held, UV expires)
  CODE:
    store_text its_key = text_of(aTHX_ key), its_value = text_of(aTHX_ value);
    operation this = begin(aTHX_ handle, name, held, F_WRLCK);
    end(aTHX_ this, table_put(this.store, this.name, its_key, its_value, (uint32_t)expires));

void
remove(SV *handle, SV *name, SV *key, bool held)
  CODE:
    store_text its_key = text_of(aTHX_ key);
    operation this = begin(aTHX_ handle, name, held, F_WRLCK);
    end(aTHX_ this, table_remove(this.store, this.name, its_key));

void
clear(SV *handle, SV *name, bool held)
  CODE:
    operation this = begin(aTHX_ handle, name, held, F_WRLCK);
    end(aTHX_ this, table_clear(this.store, this.name));

SV *
keys(SV *handle, SV *name, bool held)
  CODE:
    AV *keys = newAV();
    RETVAL = newRV_noinc((SV *)keys);
    gathering found = { .keys = keys };
#ifdef MULTIPLICITY
    found.perl = aTHX;
#endif
    operation this = begin(aTHX_ handle, name, held, F_RDLCK);
    end(aTHX_ this, table_walk(this.store, this.name, add_key, &found));
  OUTPUT:
    RETVAL

void
size(SV *handle, SV *name)
  PPCODE:
    gathering found = { 0 };
    operation this = begin(aTHX_ handle, name, true, F_RDLCK);
    end(aTHX_ this, table_walk(this.store, this.name, add_size, &found));
    EXTEND(SP, 2);
    mPUSHu(found.bytes);
    mPUSHu(found.count);

bool
lock(SV *handle, SV *name, char kind, bool wait = TRUE)
  CODE:
    mehari_store *store = store_of(aTHX_ handle);
    errno = 0;
    RETVAL = store_lock_name(store, text_of(aTHX_ name), kind == 'r' ? F_RDLCK : kind == 'w' ? F_WRLCK : F_UNLCK, wait);
    if (!RETVAL && (wait || (errno != EAGAIN && errno != EACCES)))
      croak_of(aTHX_ store);
  OUTPUT:
    RETVAL

void
report(SV *handle)
  PPCODE:
    mehari_store *store = store_of(aTHX_ handle);
    if (!store_enter(store))
      croak_of(aTHX_ store);
    UV figures[] = { store->header->size, store->header->live, store->header->records, store->limit };
    store_leave(store);
    EXTEND(SP, 4);
    for (int i = 0; i < 4; i++)
      mPUSHu(figures[i]);
