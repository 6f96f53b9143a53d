package Apache2::Status;

# Shows pages about the perl of the worker that answers: modules, compiled scripts, symbols,
# environment. Configure it with `SetHandler perl-script` and `PerlResponseHandler Apache2::Status`.

use strict;
use warnings;
use Apache2::Const       ();
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use Apache2::ServerUtil  ();
use Config ();

our $VERSION = '4.01';

my %PAGES = (
    script      => ['Perl Compiled Registry Scripts', \&_scripts],
    inc         => ['Loaded Modules',                 \&_modules],
    env         => ['Environment',                    \&_environment],
    isa_tree    => ['Inheritance Tree',               \&_isa_tree],
    symdump     => ['Symbol Table Dump',              \&_symbols],
    sig         => ['Signal Handlers',                \&_signals],
    myconfig    => ['Perl Configuration',             sub { '<pre>' . _escaped(Config::myconfig()) . '</pre>' }],
    section_config => ['Perl Section Configuration',  sub { '' }],
);

# The pages that applications have added. Mehari::Inspect shows them, too.
our %items;

# menu_item(name => title, sub ($r, $cgi) { return \@html }) adds a page.
sub menu_item {
    my ($class, $name, $title, $code) = @_;
    $items{$name} = [$title, $code];
    $PAGES{$name} = [$title, sub { join '', @{ $code->($_[0], undef) || [] } }];
    return;
}

sub handler {
    my ($r) = @_;
    my ($name, @rest) = split /[?&;]/, $r->args // '';
    my $page = defined $name && length $name ? $PAGES{ $name =~ s/=.*//r } : undef;
    $r->content_type('text/html; charset=utf-8');
    my $title = $page ? $page->[0] : 'Status';
    my $body  = defined $name && $name =~ /\A([\w:]+)::\z/ ? _package($1) : $page ? $page->[1]->($r, @rest) : _menu($r);
    $r->print("<!DOCTYPE html>\n<html><head><title>Apache2::Status</title></head><body>\n<h1>", _escaped($title), "</h1>\n",
        '<p>', _escaped(Apache2::ServerUtil::get_server_description()), " running in process $$, perl ", sprintf('v%vd', $^V), "</p>\n$body\n",
        '<hr><p><a href="', _escaped($r->uri), "\">Status</a></p>\n</body></html>\n");
    return Apache2::Const::OK;
}

sub _escaped { my ($text) = @_; $text = 'undef' unless defined $text; $text =~ s/([<>&"])/'&#' . ord($1) . ';'/ge; return $text }

sub _menu {
    my ($r) = @_;
    return "<ul>\n" . join('', map { '<li><a href="' . _escaped($r->uri) . "?$_\">" . _escaped($PAGES{$_}[0]) . "</a></li>\n" } sort keys %PAGES) . "</ul>\n";
}

sub _table {
    my ($heads, @rows) = @_;
    my $row = sub { my ($cell, @values) = @_; '<tr>' . join('', map { "<$cell>" . _escaped($_) . "</$cell>" } @values) . "</tr>\n" };
    return "<table border=1>\n" . $row->('th', @$heads) . join('', map { $row->('td', @$_) } @rows) . "</table>\n";
}

sub _modules {
    my @rows = map {
        my $package = s/\.pm\z//r =~ s{/}{::}gr;
        [$package, do { no strict 'refs'; ${"${package}::VERSION"} // '' }, ref $INC{$_} || $INC{$_} // '']
    } sort grep { /\.pm\z/ } keys %INC;
    return _table(['Package', 'Version', 'File'], @rows);
}

sub _environment { return _table(['Name', 'Value'], map { [$_, $ENV{$_}] } sort keys %ENV) }

sub _signals { return _table(['Signal', 'Handler'], map { [$_, $SIG{$_} // ''] } sort keys %SIG) }

# Lists the packages of compiled scripts, which are below certain namespaces.
sub _scripts {
    my @rows = map { [$_] } grep { /\AModPerl::ROOT::/ && defined &{"${_}::handler"} } _packages('ModPerl::ROOT');
    return _table(['Package'], @rows);
}

sub _packages {
    my ($root) = @_;
    no strict 'refs';
    return map { my $name = $root eq 'main' ? s/::\z//r : "${root}::" . s/::\z//r; ($name, _packages($name)) }
        sort grep { /::\z/ && $_ ne 'main::' } keys %{"${root}::"};
}

sub _symbols {
    my ($r) = @_;
    return "<ul>\n" . join('', map { "<li><a href=\"?" . _escaped($_) . "::\">" . _escaped($_) . "</a></li>\n" } grep { !/\AModPerl::ROOT/ } _packages('main')) . "</ul>\n";
}

sub _package {
    my ($package) = @_;
    no strict 'refs';
    my $stash = \%{"${package}::"};
    my @rows;
    for my $name (sort grep { !/::\z/ } keys %$stash) {
        my @kinds;
        push @kinds, 'function' if defined &{"${package}::$name"};
        if (ref \$stash->{$name} eq 'GLOB') {
            push @kinds, 'scalar' if defined ${"${package}::$name"};
            push @kinds, 'array'  if *{"${package}::$name"}{ARRAY};
            push @kinds, 'hash'   if *{"${package}::$name"}{HASH};
        }
        push @rows, [$name, join ', ', @kinds];
    }
    return _table(['Symbol', 'Kind'], @rows);
}

sub _isa_tree {
    no strict 'refs';
    return _table(['Class', 'Parents'], map { my @isa = @{"${_}::ISA"}; @isa ? [$_, "@isa"] : () } _packages('main'));
}

1;

__END__

=head1 NAME

Apache2::Status - pages about the interpreter of a worker

=head1 SYNOPSIS

    <Location /perl-status>
        SetHandler perl-script
        PerlResponseHandler Apache2::Status
        Require ip 127.0.0.1
    </Location>

=head1 DESCRIPTION

The pages show the perl of the worker that answers: loaded modules, compiled scripts, symbols, the
environment, signal handlers, the inheritance of classes, and perl's configuration.

=head1 CLASS METHODS

=over 4

=item menu_item(NAME, TITLE, CODE)

Adds a page. The code gets the request and undef, and returns a reference to an array of HTML.

=back

=head1 FUNCTIONS

=over 4

=item handler(R)

Answers with a page. It is a response handler.

=back

=head1 DIFFERENCES

mod_perl's pages that use the module B (op trees, sizes) are views of C<mehari inspect> here.
C<mehari inspect> also shows the added pages and calls their code without a request. The code of an
added page gets no CGI object. A page shows one worker only. C<mehari status> shows all workers.

=head1 SEE ALSO

L<Apache::Status>, F<docs/reference/modperl.md>.

=cut
