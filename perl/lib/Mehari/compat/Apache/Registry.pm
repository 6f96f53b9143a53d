package Apache::Registry;

# mod_perl 1's script handler. The server runs it in C on its rung `registry`; this module is for
# subclasses and direct calls.

use strict;
use warnings;
use ModPerl::Registry ();

our @ISA = ('ModPerl::Registry');

sub handler { my $class = @_ >= 2 ? shift : __PACKAGE__; return $class->new(shift)->default_handler }

sub chdir_file { my ($self, @folder) = @_; return $self->chdir_file_normal(@folder) }

sub namespace_from { return $_[0]->namespace_from_uri }

1;

__END__

=head1 NAME

Apache::Registry - mod_perl 1's script handler

=head1 SYNOPSIS

    <Location /perl/>
        SetHandler perl-script
        PerlHandler Apache::Registry
        Options +ExecCGI
    </Location>

=head1 DESCRIPTION

The server runs it in C, on its rung C<registry>. The script's C<$r> is an L<Apache>, and the
working directory is its folder. This class is for subclasses and direct calls.

=head1 METHODS

=over 4

=item handler(R)

Runs the script of a request. Returns a status.

=item namespace_from, chdir_file([FOLDER])

Steps of L<ModPerl::RegistryCooker>: a package by URI, the script's own folder.

=back

=head1 DIFFERENCES

See L<ModPerl::Registry>.

=head1 SEE ALSO

L<ModPerl::Registry>, L<Apache::PerlRun>.

=cut
