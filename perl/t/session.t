# Apache::Session over Mehari::State.

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
is($known{name}, 'ann', 'what was kept is there');
is_deeply($known{deep}, { list => [1, 2] }, 'of any depth');
delete $known{name};
$known{count} = 0;
untie %known;

# Ten processes count; no increment is lost.
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
is($session{count}, 200, 'one process at a time for a session');
ok(!exists $session{name}, 'what was taken out is gone');
tied(%session)->delete;
untie %session;

ok(!eval { tie my %gone, 'Apache::Session::Mehari', $id, $option; 1 }, 'a session that was deleted is not there');
like($@, qr/does not exist/, 'and says so');
ok(!eval { tie my %nowhere, 'Apache::Session::Mehari', undef, {}; 1 }, 'no name');
like($@, qr/FileName is missing; expected/, 'says what was expected');

done_testing;
