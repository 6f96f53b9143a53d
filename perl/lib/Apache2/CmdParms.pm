package Apache2::CmdParms;

# What the callback of a custom directive learns about its line.

use strict;
use warnings;
use Apache2::Const      ();
use Apache2::Command    ();
use Apache2::Directive  ();
use Apache2::ServerUtil ();

sub of { my ($class, %facts) = @_; return bless {%facts}, $class }

sub cmd      { return $_[0]{command} }
sub info     { return $_[0]{command}->cmd_data }
sub path     { return $_[0]{path} }
sub override { return $_[0]{override} }

# Apache's classes of `Options`: all of them.
sub override_opts { return 255 }

sub server { my ($self) = @_; return Apache2::ServerRec->of_number($self->{server}) }
sub pool   { my ($self) = @_; require APR::Pool; return $self->{pool} ||= APR::Pool->new }
sub temp_pool { return $_[0]->pool }

# For Apache2::Module::get_config: the section of the line.
sub context { my ($self) = @_; return bless [$self], 'Apache2::ConfVector' }

# The line itself, with the lines of a section below it.
sub directive {
    my ($self) = @_;
    return $self->{directive} ||= Apache2::Directive->of_lines(
        { directive => $self->{command}->name, args => join(' ', @{ $self->{arguments} }), file => $self->{file}, line => $self->{line} },
        @{ $self->{lines} },
    );
}

# check_cmd_context(Apache2::Const::NOT_IN_LOCATION ...): undef, or the problem.
my @PLACES = (
    [NOT_IN_VIRTUALHOST => '<VirtualHost>', sub { $_[0]{server} > 0 }],
    [NOT_IN_LIMIT       => '<Limit>',       sub { 0 }],
    [NOT_IN_LOCATION    => '<Location>',    sub { ($_[0]{path} // '') =~ m{\A/} }],
    [NOT_IN_DIRECTORY   => '<Directory>',   sub { ($_[0]{path} // '') =~ m{\A/} }],
    [NOT_IN_FILES       => '<Files>',       sub { ($_[0]{path} // '/') !~ m{\A/} }],
);

sub check_cmd_context {
    my ($self, $forbidden) = @_;
    for my $place (@PLACES) {
        my ($constant, $section, $is_there) = @$place;
        my $bit = (Apache2::Const->can($constant) or next)->();
        return "$self->{name} cannot occur within $section section" if ($forbidden & $bit) == $bit && $is_there->($self);
    }
    return undef;
}

# No directive is restricted to some methods.
sub method_is_limited { return 0 }

# Adds lines of configuration in place of this one.
sub add_config {
    my ($self, $lines) = @_;
    require Mehari::Configuration;
    Mehari::Configuration::add(ref $lines eq 'ARRAY' ? @$lines : $lines);
    return;
}

1;
