/* One store file: named hashes of byte strings, mapped by every process of a machine.
 *
 * Records are appended and never changed. A value is written completely, then made visible by
 * one aligned 8-byte store. A process killed at any instruction therefore leaves the store as it
 * was before or after. Superseded records stay until the file is rewritten. A function that
 * fails returns false and leaves a sentence in `store->problem`. A process must not call two
 * functions at once. */
#ifndef MEHARI_STORE_H
#define MEHARI_STORE_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <sys/types.h>

enum {
  STORE_FORMAT = 1,
  STORE_HEAD = 4096,               /* the header's page; the buckets follow */
  STORE_NAME_LIMIT = 64 << 10,     /* bytes of a name or key */
};
#define STORE_VALUE_LIMIT ((uint32_t)256 << 20)
#define STORE_SIZE_LIMIT ((uint64_t)1 << 30) /* bytes of the file, unless told otherwise */

typedef struct {
  char magic[8];
  uint32_t format, moved; /* moved: a newer file has this one's name */
  char boot[40];          /* the boot in which `lock` was made: a lock does not outlive the kernel */
  uint64_t size, buckets, tail, live, records, next_hash, seed, limit;
  pthread_mutex_t lock;
} store_header;

/* Size: a multiple of 8. A hash's own record has its name as key and the offset of its newest
 * entry as value. Hash 0 is the list of hashes. */
typedef struct {
  uint64_t next;     /* the bucket's next record */
  uint64_t previous; /* the hash's record written before this one, current or not */
  uint64_t digest, hash;
  uint32_t key_length, value_length;
  uint64_t check; /* of all that follows `previous` but this */
  uint32_t expires, touched; /* Unix seconds; 0: never. `touched` is outside `check` */
  char bytes[];
} store_record;

typedef struct mehari_store {
  struct mehari_store *following; /* in the process's list */
  char *path;
  store_header *header;
  char *base; /* the whole file's mapping, header included */
  uint64_t mapped;
  int locks; /* PATH.locks, for locks by name */
  uint64_t inode;
  uint64_t limit;
  uint64_t damaged; /* records found damaged since it was opened */
  bool drop_by_age; /* a cache: the oldest entries leave instead of an error */
  char problem[640];
} mehari_store;

typedef struct { const char *at; size_t length; } store_text;

mehari_store *store_open(const char *path, int flags, unsigned mode, uint64_t limit, bool drop_by_age, char *problem, size_t room);
bool store_enter(mehari_store *store);
void store_leave(mehari_store *store);
bool store_make_room(mehari_store *store, uint64_t bytes);
bool store_lock_name(mehari_store *store, store_text name, short kind, bool wait);
bool store_fail(mehari_store *store, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Between enter and leave. A pointer to a record is valid until the next call that writes. */
store_record *table_find(mehari_store *store, uint64_t hash, store_text key);
store_record *table_entry(mehari_store *store, store_text name, store_text key);
bool table_put(mehari_store *store, store_text name, store_text key, store_text value, uint32_t expires);
bool table_remove(mehari_store *store, store_text name, store_text key);
bool table_clear(mehari_store *store, store_text name);
/* Calls the function for each current entry, newest first, until it returns false. */
bool table_walk(mehari_store *store, store_text name, bool (*each)(void *, store_record *), void *with);
bool table_copy(mehari_store *from, mehari_store *to, uint64_t room);
uint64_t table_audit(mehari_store *store); /* records found damaged, and taken out */

uint64_t store_digest(uint64_t seed, store_text text);
static inline uint64_t store_record_size(size_t key, size_t value) { return (sizeof(store_record) + key + value + 7) & ~(uint64_t)7; }
static inline store_text store_key_of(const store_record *record) { return (store_text){ record->bytes, record->key_length }; }
static inline uint64_t *store_buckets(mehari_store *store) { return (uint64_t *)(store->base + STORE_HEAD); }
#endif
