# Tests Apache::Session with Mehari::State as its store.

use strict;
use warnings;
use Test::More;

BEGIN { plan skip_all => 'libapache-session-perl is not installed' unless eval { require Apache::Session; 1 } }

use File::Temp qw(tempdir);
use Apache::Session::Flex ();
use Apache::Session::Mehari ();

my $option = { FileName => tempdir(CLEANUP => 1) . '/sessions' };

tie my %new, 'Apache::Session::Mehari', undef, $option;
my $id = $new{_session_id};
@new{qw(name deep)} = ('ann', { list => [1, 2] });
untie %new;

tie my %known, 'Apache::Session::Mehari', $id, $option;
is($known{name}, 'ann', 'a stored value is read again');
is_deeply($known{deep}, { list => [1, 2] }, 'a stored structure is read again');
delete $known{name};
$known{count} = 0;
untie %known;

# Ten processes increment a value of the session. No increment may be lost.
my @children = map { fork || do {
    for (1 .. 20) {
        tie my %session, 'Apache::Session::Mehari', $id, $option;
        $session{count}++;
    }
    require POSIX;
    POSIX::_exit(0);
} } 1 .. 10;
waitpid $_, 0 for @children;

my %flex = (%$option, Store => 'Mehari', Lock => 'Mehari', Generate => 'MD5', Serialize => 'Storable');
tie my %session, 'Apache::Session::Flex', $id, \%flex;
is($session{count}, 200, 'no increment is lost');
ok(!exists $session{name}, 'a deleted value is gone');
tied(%session)->delete;
untie %session;

ok(!eval { tie my %gone, 'Apache::Session::Mehari', $id, $option; 1 }, 'a deleted session cannot be opened');
like($@, qr/does not exist/, 'the message says that the session does not exist');
ok(!eval { tie my %nowhere, 'Apache::Session::Mehari', undef, {}; 1 }, 'a missing FileName is refused');
like($@, qr/FileName is missing; expected/, 'the message says what was expected');

done_testing;
