# Checks the distribution: MANIFEST names every file, and every named file exists.

use strict;
use warnings;
use Cwd qw(abs_path);
use ExtUtils::Manifest qw(filecheck manicheck);
use File::Basename qw(dirname);
use Test::More;

chdir abs_path(dirname(__FILE__) . '/..') or die $!;
$ExtUtils::Manifest::Quiet = 1;
is(join(' ', manicheck()), '', 'every file of MANIFEST exists');

is(join(' ', filecheck()), '', 'every file is in MANIFEST (`make manifest` writes it)');

# An installation must not replace a module of another author.
my $OWN = qr{\A(?:Mehari\.pm|Mehari/.*|(?:Plack/Handler|CHI/Driver|Apache/Session(?:/Store|/Lock)?)/Mehari\.pm)\z};
my @names = map { m{\Alib/(.*)\z} } sort keys %{ ExtUtils::Manifest::maniread() };
cmp_ok(scalar @names, '>', 100, 'there are modules');
is(join(' ', grep { $_ !~ $OWN } @names), '', 'modules outside of Mehari/ have the name Mehari');

done_testing;
