package Mehari::FilteredFile;

# Sends a file through Perl's output filters. Without such filters, the front sends files.

use strict;
use warnings;
use Apache2::RequestIO ();
use Apache2::Response  ();

use constant { OK => 0, DECLINED => -1 };

# Returns the status, or DECLINED if the front should answer. There is no Content-Length, because
# filters may change the length.
sub send {
    my ($r) = @_;
    return DECLINED unless $r->method =~ /\A(?:GET|HEAD)\z/;
    my $name = $r->filename;
    return DECLINED unless defined $name && -f $name && -r _;
    my ($changed) = (stat _)[9];
    $r->update_mtime($changed);
    $r->set_last_modified;
    $r->set_etag;
    my $status = $r->meets_conditions;
    return $status if $status;
    return $r->sendfile($name) ? 500 : OK;
}

1;

__END__

=head1 NAME

Mehari::FilteredFile - internal

=head1 DESCRIPTION

This module is internal to the server: it sends a file through Perl's output filters.

=cut
