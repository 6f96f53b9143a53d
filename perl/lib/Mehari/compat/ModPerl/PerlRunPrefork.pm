package ModPerl::PerlRunPrefork;

# Runs a script as ModPerl::PerlRun does, but with the script's folder as the working directory.

use strict;
use warnings;
use ModPerl::PerlRun ();

our @ISA = ('ModPerl::PerlRun');

sub handler : method {
    my $class = @_ >= 2 ? shift : __PACKAGE__;
    return $class->new(shift)->default_handler;
}

sub chdir_file { my ($self, @folder) = @_; return $self->chdir_file_normal(@folder) }

1;

__END__

=head1 NAME

ModPerl::PerlRunPrefork - as ModPerl::PerlRun, in the script's own folder

=head1 SYNOPSIS

    PerlResponseHandler ModPerl::PerlRunPrefork

=head1 DESCRIPTION

The class is a L<ModPerl::PerlRun>. The working directory of a script is the script's folder. In the
configuration, the name of this class replaces L<ModPerl::PerlRun>.

=head1 METHODS

=over 4

=item handler(R)

Runs the script of a request. Returns a status.

=item chdir_file([FOLDER])

Enters the script's folder. With a FOLDER, it enters the server's folder.

=back

=head1 DIFFERENCES

The server itself does the work of this handler, on the rung C<perlrun> (L<ModPerl::PerlRun>). The
methods are for subclasses.

=head1 SEE ALSO

L<ModPerl::PerlRun>, L<ModPerl::RegistryPrefork>.

=cut
