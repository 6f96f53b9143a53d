/* Every file of the Perl side includes this file: perl's headers, a text type, bounded access. The
 * header of a folder declares what the folder offers to other folders.
 *
 * A worker has one interpreter and one thread and serves one request at a time, so the state of the
 * current request is global on purpose. No Perl exception leaves a function that these headers
 * declare, unless the header says so. */
#ifndef MEHARI_H
#define MEHARI_H

#define PERL_NO_GET_CONTEXT
#include <EXTERN.h>
#include <perl.h>
#include <XSUB.h>
#include <perliol.h>
/* ppport.h gives older perls the declarations of newer perls. Devel::PPPort 3.73 wrote ppport.h by
 * `perl -MDevel::PPPort -e Devel::PPPort::WriteFile`. Then lines that had only a `#` were removed,
 * and `perl ppport.h --strip` was run. The licence of ppport.h is perl's own. */
#include "ppport.h"
#include <stdbool.h>

#define MEHARI_RELEASE "0.2.0"

typedef struct {
  const char *at;
  STRLEN length;
} mehari_text;

#include "bounds.h"

#endif
