package Mehari::RequestConfiguration;

# Carries out `$r->add_config`, which changes the configuration for the rest of one request. Only
# directives that Perl evaluates are allowed, because the front has evaluated its directives before.

use strict;
use warnings;
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use Apache2::Response    ();

my %LINES = (
    perlsetvar   => sub { my ($r, $name, $value) = @_; $r->dir_config->set($name => $value) },
    perladdvar   => sub { my ($r, $name, @values) = @_; $r->dir_config->add($name => $_) for @values },
    perlsetenv   => sub { my ($r, $name, $value) = @_; $r->subprocess_env->set($name => $value) },
    setenv       => sub { my ($r, $name, $value) = @_; $r->subprocess_env->set($name => $value // '') },
    sethandler   => sub { my ($r, $name) = @_; $r->handler($name) },
    forcetype    => sub { my ($r, $type) = @_; $r->content_type($type) },
    errordocument => sub { my ($r, $status, @document) = @_; $r->custom_response($status, "@document") },
    authname     => sub { my ($r, $name) = @_; $r->auth_name($name) },
    authtype     => sub { my ($r, $name) = @_; $r->auth_type($name) },
);

sub apply {
    my ($r, $lines) = @_;
    for my $line (map { split /\n/ } ref $lines eq 'ARRAY' ? @$lines : $lines) {
        my ($name, @words) = _words($line) or next;
        if (my $change = $LINES{ lc $name }) { $change->($r, @words) }
        elsif ($name =~ /\APerl\w+Handler\z/i) { $r->set_handlers($name => \@words) }
        else {
            require Carp;
            Carp::croak("add_config: `$name` cannot change within a request; expected one of " . join(', ', sort keys %LINES) . ', or a Perl handler of a phase to come');
        }
    }
    return;
}

# Splits a line into words. As in a configuration file, a word in quotes may contain blanks.
sub _words {
    my ($line) = @_;
    my @words;
    push @words, $1 // $2 // $3 while $line =~ /\G\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"']\S*))/gc;
    return @words && $words[0] !~ /\A#/ ? @words : ();
}

1;

__END__

=head1 NAME

Mehari::RequestConfiguration - internal

=head1 DESCRIPTION

This module is internal to the server: it carries out C<< $r->add_config >>; see
L<Apache2::RequestUtil>.

=cut
