package Apache2::Directive;

# The configuration as a tree: `Apache2::Directive::conftree()`. What a site's Perl asks of it is mostly the
# User, the Group and the ServerRoot; these are answered, sections are not walked.

use strict;
use warnings;
use Mehari::Server ();

sub conftree { return bless { directive => '', args => '' }, __PACKAGE__ }

my %ANSWER = (
    user       => sub { scalar getpwuid $> },
    group      => sub { scalar getgrgid 0 + $) },
    serverroot => sub { Mehari::Server::root() },
    servername => sub { Mehari::Server::text(0, 'server_hostname') },
    serveradmin  => sub { Mehari::Server::text(0, 'server_admin') },
    documentroot => sub { Mehari::Server::text(0, 'document_root') },
);

# lookup($directive): its arguments; in list context all of them.
sub lookup {
    my ($self, $name) = @_;
    my $answer = $ANSWER{ lc $name } or return;
    my $value = $answer->();
    return defined $value ? $value : ();
}

sub as_hash { my ($self) = @_; return { map { my $value = $ANSWER{$_}->(); defined $value ? ($_ => $value) : () } keys %ANSWER } }

sub as_string {
    my ($self) = @_;
    my $all = $self->as_hash;
    return join '', map { "$_ $all->{$_}\n" } sort keys %$all;
}

sub directive   { return $_[0]{directive} }
sub args        { return $_[0]{args} }
sub filename    { return undef }
sub line_num    { return 0 }
sub first_child { return undef }
sub next        { return undef }
sub parent      { return undef }

1;
