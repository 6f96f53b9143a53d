package Apache2::CmdParms;

# The facts about a line that the callback of a custom directive gets.

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
    my $anywhere = Apache2::Const::NOT_IN_DIR_LOC_FILE() | Apache2::Const::NOT_IN_LIMIT();
    return "$self->{name} cannot occur within directory context" if ($forbidden & $anywhere) == $anywhere && defined $self->{path};
    for my $place (@PLACES) {
        my ($constant, $section, $is_there) = @$place;
        my $bit = (Apache2::Const->can($constant) or next)->();
        return "$self->{name} cannot occur within $section section" if ($forbidden & $bit) == $bit && $is_there->($self);
    }
    return undef;
}

# A line outside of <Limit> is for all methods.
sub method_is_limited { return 1 }

# Adds lines of configuration in place of this one.
sub add_config {
    my ($self, $lines) = @_;
    require Mehari::Configuration;
    Mehari::Configuration::add(ref $lines eq 'ARRAY' ? @$lines : $lines);
    return;
}

1;

__END__

=head1 NAME

Apache2::CmdParms - what the callback of a directive learns about its line

=head1 SYNOPSIS

    sub MyWord {
        my ($self, $parms, $word) = @_;
        my $problem = $parms->check_cmd_context(Apache2::Const::NOT_IN_LOCATION());
        die $problem if $problem;
        $self->{ $parms->server->server_hostname // '' } = $word;
        return;
    }

=head1 DESCRIPTION

An object of this class is an argument of each callback of L<Apache2::Module>.

=head1 METHODS

=over 4

=item cmd

The L<Apache2::Command>.

=item info

Its C<cmd_data>.

=item directive

The line as an L<Apache2::Directive>, with the lines of a section below it.

=item path

The path of the section, or undef.

=item server

The L<Apache2::ServerRec> of the line.

=item pool, temp_pool

An L<APR::Pool>.

=item context

For C<Apache2::Module::get_config>: the section of the line.

=item override

The bits of what is allowed where the line stands.

=item override_opts

Always 255.

=item check_cmd_context(BITS)

undef, or a sentence if the line stands in a section that the bits C<NOT_IN_*> forbid.

=item method_is_limited

Always 1, because the line is for all methods.

=item add_config(LINES)

Adds lines of configuration in place of this one.

=back

=head1 DIFFERENCES

No line is in a C<< <Limit> >> section for C<check_cmd_context>.

=head1 SEE ALSO

L<Apache2::Module>, L<Apache2::Command>, L<Apache2::Directive>.

=cut
