package Mehari::FilteredFile;

# A file that the front would send by itself, where filters in Perl want to see it: its bytes go through them.

use strict;
use warnings;
use Apache2::RequestIO ();
use Apache2::Response  ();

use constant { OK => 0, DECLINED => -1 };

# The status, or DECLINED: the front knows better what to say. No Content-Length: who knows what the filters make of it.
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
