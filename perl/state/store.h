/* The interface of a store: a file with named hashes of byte strings, which several processes map.
 *
 * Records are appended and never changed. A record is written completely. Then one write of an
 * aligned 8-byte word makes the record visible. If a process is killed in an operation, the
 * operation therefore has happened completely or not at all. Replaced records stay in the file
 * until the file is rewritten. A function that fails returns false and leaves a sentence in
 * `store->problem`. Two threads of a process must not call these functions at once. */
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
#define STORE_SIZE_LIMIT ((uint64_t)1 << 30) /* the default of the largest file in bytes */

typedef struct {
  char magic[8];
  uint32_t format, moved; /* moved: a newer file has replaced this file */
  char boot[40];          /* the boot in which `lock` was made: a lock does not outlive the kernel */
  uint64_t size, buckets, tail, live, records, next_hash, seed, limit;
  pthread_mutex_t lock;
} store_header;

/* One entry of a hash. Its size is a multiple of 8. Each hash has a record of its own in hash 0.
 * The key is the name of the hash. The value is the offset of the newest entry, and the hash's
 * number. */
typedef struct {
  uint64_t next;     /* the offset of the bucket's next record */
  uint64_t previous; /* the offset of the same hash's record written before, current or replaced */
  uint64_t digest, hash;
  uint32_t key_length, value_length;
  uint64_t check; /* the checksum of the fields after `previous`, except `check` and `touched` */
  uint32_t expires, touched; /* Unix seconds. `expires` is 0 for a value that never expires */
  char bytes[];
} store_record;

typedef struct mehari_store {
  struct mehari_store *following; /* the next store in this process's list */
  char *path;
  store_header *header;
  char *base; /* the mapping of the whole file, which begins with the header */
  uint64_t mapped;
  int locks; /* the descriptor of PATH.locks, for locks by name */
  uint64_t inode;
  uint64_t limit;
  uint64_t damaged; /* the number of damaged records that this process has found */
  bool drop_by_age; /* for a cache: a full store drops its oldest entries and reports no error */
  char problem[640];
} mehari_store;

typedef struct { const char *at; size_t length; } store_text;

mehari_store *store_open(const char *path, int flags, unsigned mode, uint64_t limit, bool drop_by_age, char *problem, size_t room);
bool store_enter(mehari_store *store);
void store_leave(mehari_store *store);
bool store_make_room(mehari_store *store, uint64_t bytes);
bool store_lock_name(mehari_store *store, store_text name, short kind, bool wait);
bool store_fail(mehari_store *store, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The functions table_... are called between store_enter and store_leave. A pointer to a record is
 * valid until the next call that writes. */
store_record *table_find(mehari_store *store, uint64_t hash, store_text key);
store_record *table_entry(mehari_store *store, store_text name, store_text key);
bool table_put(mehari_store *store, store_text name, store_text key, store_text value, uint32_t expires);
bool table_remove(mehari_store *store, store_text name, store_text key);
bool table_clear(mehari_store *store, store_text name);
/* Calls `each` for each current entry, the newest first, until `each` returns false. */
bool table_walk(mehari_store *store, store_text name, bool (*each)(void *, store_record *), void *with);
bool table_copy(mehari_store *from, mehari_store *to, uint64_t room);
uint64_t table_audit(mehari_store *store); /* removes damaged records and returns their number */

uint64_t store_digest(uint64_t seed, store_text text);
static inline uint64_t store_record_size(size_t key, size_t value) { return (sizeof(store_record) + key + value + 7) & ~(uint64_t)7; }
static inline store_text store_key_of(const store_record *record) { return (store_text){ record->bytes, record->key_length }; }
static inline uint64_t *store_buckets(mehari_store *store) { return (uint64_t *)(store->base + STORE_HEAD); }
#endif
