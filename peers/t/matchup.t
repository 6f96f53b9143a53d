# Tests the plan: every matchup compares one rung of Mehari with at least one peer, and unknown
# names are refused.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Matchup;

my @all = Matchup::plan([], []);
for my $contest (@all) {
    my ($ours, @peers) = @{$contest->{contenders}};
    my $name = "$contest->{name} $contest->{page}";
    is $ours->{class}, 'Peer::Mehari', "$name: Mehari is first";
    ok scalar(@peers), "$name: it has a peer";
    for my $contender ($ours, @peers) {
        like $contender->{class}->path_of($contender->{rung}, $contest->{page}), qr{^/\S+\z}, "$name: $contender->{class} has an address";
    }
}
is_deeply [map { "$_->{name} $_->{page}" } Matchup::plan(['registry', 'handler'], ['hello'])], ['registry hello', 'handler hello'],
    'names and pages choose';
ok !eval { Matchup::plan(['regstry'], []) }, 'a name that does not exist is refused';
like $@, qr/no matchup is called regstry; there are: cgi, /, '... and the names are told';

ok !eval { Matchup::plan(['registry'], ['small']); 1 }, 'a page that no chosen matchup has ends the run';
like $@, qr/^no page here is called small; there are: hello, report$/, '... with those that there are';
ok +(grep { $_ eq 'args-337' } Matchup::all_pages()), 'pages of all matchups, for the help';

done_testing;
