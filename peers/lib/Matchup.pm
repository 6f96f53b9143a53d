# Lists the matchups. A matchup compares one rung of Mehari with the servers that a user would
# choose for the same purpose.
package Matchup;
use strict;
use warnings;
use Peer::Apache;
use Peer::Feersum;
use Peer::Lighttpd;
use Peer::Mehari;
use Peer::Nginx;
use Peer::Starman;
use Peer::Uwsgi;
use Programs;

my @SCRIPT_PAGES = qw(hello report);
my @PSGI_PEERS   = map { [$_, 'psgi'] } qw(Peer::Starman Peer::Uwsgi Peer::Feersum);

my @ALL = (
    {name => 'cgi',        rung => 'cgi',      pages => \@SCRIPT_PAGES, peers => [['Peer::Apache', 'cgi']]},
    {name => 'fork',       rung => 'fork',     pages => \@SCRIPT_PAGES, peers => [['Peer::Apache', 'cgi']]},
    {name => 'perlrun',    rung => 'perlrun',  pages => \@SCRIPT_PAGES, peers => [['Peer::Apache', 'perlrun']]},
    {name => 'registry',   rung => 'registry', pages => \@SCRIPT_PAGES, peers => [['Peer::Apache', 'registry']]},
    {name => 'auto',       rung => 'auto',     pages => \@SCRIPT_PAGES, peers => [['Peer::Apache', 'registry']]},
    # What isolation costs: the pages of ordinary scripts, beside the rung without isolation and the
    # rung with a process for each request.
    {name => 'isolated',   rung => 'auto',     pages => [qw(hello form lines connect)],
        peers => [['Peer::Mehari', 'registry'], ['Peer::Mehari', 'fork'], ['Peer::Apache', 'cgi']]},
    # The same in a site that has preloaded 100 and 500 MB.
    {name => 'preloaded',  rung => 'auto',     pages => ['hello'], peers => [map({ ['Peer::Mehari', $_] } qw(auto-100m auto-500m))]},
    {name => 'isolated-psgi', rung => 'psgi-isolated', pages => \@SCRIPT_PAGES, peers => [['Peer::Mehari', 'psgi'], ['Peer::Starman', 'psgi']]},
    # Real programs of Debian packages, on each rung, beside a process for each request.
    {name => 'programs',   rung => 'auto',     pages => [Programs::pages()],
        peers => [map({ ['Peer::Mehari', $_] } qw(registry fork cgi)), ['Peer::Apache', 'cgi']]},
    {name => 'handler',    rung => 'handler',  pages => \@SCRIPT_PAGES, peers => [['Peer::Apache', 'handler']]},
    # The guide's three ways to read a form, with its two query strings. Debian has no libapreq2 for
    # Apache, so the peer of Apache2::Request is Apache's fastest way, $r->args.
    {name => 'forms-25',   rung => 'registry', pages => [qw(args-25 request-25 cgi-25)],    peers => [['Peer::Apache', 'registry']]},
    {name => 'forms-337',  rung => 'registry', pages => [qw(args-337 request-337 cgi-337)], peers => [['Peer::Apache', 'registry']]},
    {name => 'psgi',       rung => 'psgi',     pages => \@SCRIPT_PAGES, peers => \@PSGI_PEERS},
    {name => 'psgi-close', rung => 'psgi',     pages => ['hello'],      peers => [@PSGI_PEERS, ['Peer::Nginx', 'return']], close => 1},
    {name => 'static',     rung => 'static',   pages => ['small'],      peers => [['Peer::Nginx', 'static'], ['Peer::Lighttpd', 'static'], ['Peer::Nginx', 'return']]},
    {name => 'files',      rung => 'static',   pages => [qw(100k 10m)], peers => [['Peer::Nginx', 'static'], ['Peer::Lighttpd', 'static']]},
    # The page is compressed at level 6. lighttpd and Mehari compress it once. nginx compresses it
    # for each request.
    {name => 'gzip',       rung => 'gzip',     pages => ['text'],       peers => [['Peer::Nginx', 'gzip'], ['Peer::Lighttpd', 'gzip']], coding => 'gzip'},
    # The same page: from Mehari's cache, where a program has made it, and from a file.
    {name => 'cached',     rung => 'cached',   pages => ['small'],      peers => [['Peer::Mehari', 'static'], ['Peer::Nginx', 'static'], ['Peer::Lighttpd', 'static']]},
    {name => 'lua',        rung => 'lua',      pages => ['hello'],      peers => [['Peer::Lighttpd', 'lua']]},
    {name => 'tls',        rung => 'static',   pages => ['small'],      peers => [['Peer::Nginx', 'static']], secure => 1},
    {name => 'h2',         rung => 'static',   pages => ['small'],      peers => [['Peer::Nginx', 'static']], secure => 1, streams => 32},
);

sub names { return map { $_->{name} } @ALL }

sub pages { my %seen; return grep { !$seen{$_}++ } map { @{$_->{pages}} } @_ }

sub all_pages { return pages(@ALL) }

# Returns the named matchups, or all of them without a name. Each page makes an entry: {name, page,
# keep_alive, secure, streams, coding, contenders}. A contender is {class, rung, ours}. Mehari is
# the first contender. Dies if no matchup has a name or a page.
sub plan {
    my ($names, $pages) = @_;
    my %known  = map { $_->{name} => $_ } @ALL;
    my @unknown = grep { !$known{$_} } @$names;
    die "no matchup is called @unknown; there are: " . join(', ', names()) . "\n" if @unknown;
    my @matchups = @$names ? @known{@$names} : @ALL;
    my %page_known = map { $_ => 1 } pages(@matchups);
    my @missing = grep { !$page_known{$_} } @$pages;
    die "no page here is called @missing; there are: " . join(', ', pages(@matchups)) . "\n" if @missing;
    my %page_wanted = map { $_ => 1 } @$pages;
    return map { with_pages($_, \%page_wanted) } @matchups;
}

sub with_pages {
    my ($matchup, $wanted) = @_;
    my @pages = grep { !%$wanted || $wanted->{$_} } @{$matchup->{pages}};
    return map { {name => $matchup->{name}, page => $_, keep_alive => !$matchup->{close},
        secure => $matchup->{secure}, streams => $matchup->{streams}, coding => $matchup->{coding}, contenders => contenders($matchup)} } @pages;
}

sub contenders {
    my ($matchup) = @_;
    my @peers = map { {class => $_->[0], rung => $_->[1]} } @{$matchup->{peers}};
    return [{class => 'Peer::Mehari', rung => $matchup->{rung}, ours => 1}, @peers];
}

1;
