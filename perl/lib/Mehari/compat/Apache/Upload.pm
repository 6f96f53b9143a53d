package Apache::Upload;

# Represents an uploaded file as libapreq 1 does.

use strict;
use warnings;
use Apache2::Upload ();

our @ISA = ('Apache2::Upload');

sub next { return $_[0]{next} }

# info($name) returns a header field of the upload. Without a name, it returns the table of all
# fields.
sub info { my ($self, @name) = @_; return @name ? scalar $self->{info}->get($name[0]) : $self->{info} }

1;

__END__

=head1 NAME

Apache::Upload - a file of a form, as in libapreq 1

=head1 SYNOPSIS

    use Apache::Request ();

    sub handler {
        my $r = shift;
        my $form = Apache::Request->new($r);
        for (my $upload = $form->upload; $upload; $upload = $upload->next) {
            my $type = $upload->info('Content-Type');
        }
        return 0;
    }

=head1 DESCRIPTION

The class is an L<Apache2::Upload>.

=head1 METHODS

=over 4

=item next

Returns the next upload of the form, or undef.

=item info([NAME])

Returns a header field of the upload. Without a NAME, it returns the table of all fields.

=back

=head1 DIFFERENCES

C<link> copies the content, and does not make a hard link.

=head1 SEE ALSO

L<Apache::Request>, L<Apache2::Upload>.

=cut
