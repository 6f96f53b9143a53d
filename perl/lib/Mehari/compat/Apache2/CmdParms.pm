package Apache2::CmdParms;

# Tells the callback of a custom directive about the configuration line that it handles.

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

# Returns the bits of all of Apache's classes of `Options`.
sub override_opts { return 255 }

sub server { my ($self) = @_; return Apache2::ServerRec->of_number($self->{server}) }
sub pool   { my ($self) = @_; require APR::Pool; return $self->{pool} ||= APR::Pool->new }
sub temp_pool { return $_[0]->pool }

# Returns the section of the line, as an argument for Apache2::Module::get_config.
sub context { my ($self) = @_; return bless [$self], 'Apache2::ConfVector' }

# Returns the line as a node. The lines inside a section are the node's children.
sub directive {
    my ($self) = @_;
    return $self->{directive} ||= Apache2::Directive->of_lines(
        { directive => $self->{command}->name, args => join(' ', @{ $self->{arguments} }), file => $self->{file}, line => $self->{line} },
        @{ $self->{lines} },
    );
}

# The sections that check_cmd_context(Apache2::Const::NOT_IN_LOCATION ...) can forbid. The method
# returns undef, or a sentence about the problem.
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

# Adds lines of configuration in place of this line.
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

Returns the L<Apache2::Command>.

=item info

Returns the C<cmd_data> of the command.

=item directive

Returns the line as an L<Apache2::Directive>. The lines inside a section are its children.

=item path

Returns the path of the section, or undef.

=item server

Returns the L<Apache2::ServerRec> of the line.

=item pool, temp_pool

Return an L<APR::Pool>.

=item context

Returns the section of the line, as an argument for C<Apache2::Module::get_config>.

=item override

Returns the bits C<OR_*> of the kinds of directives that are allowed at this place.

=item override_opts

Always 255.

=item check_cmd_context(BITS)

Returns a sentence if the line is in a section that the bits C<NOT_IN_*> forbid, else undef.

=item method_is_limited

Always returns 1, because the line is for all methods.

=item add_config(LINES)

Adds lines of configuration in place of this line.

=back

=head1 DIFFERENCES

For C<check_cmd_context> no line is in a C<< <Limit> >> section.

=head1 SEE ALSO

L<Apache2::Module>, L<Apache2::Command>, L<Apache2::Directive>.

=cut
