package Apache2::Request;

# libapreq2's request: `Apache2::Request->new($r)` is an `$r` with parameters, uploads and cookies.
# Subclasses wrap one as `{ r => $apreq }`.

use strict;
use warnings;
use APR::Request::Apache2 ();
use Apache2::RequestRec   ();
use Apache2::Upload       ();

our $VERSION = '2.17';
our @ISA     = qw(APR::Request::Apache2 Apache2::RequestRec);

my %OPTION = (
    POST_MAX        => \&APR::Request::read_limit,
    MAX_BODY        => \&APR::Request::read_limit,
    READ_LIMIT      => \&APR::Request::read_limit,
    BRIGADE_LIMIT   => \&APR::Request::brigade_limit,
    MAX_BRIGADE     => \&APR::Request::brigade_limit,
    TEMP_DIR        => \&APR::Request::temp_dir,
    DISABLE_UPLOADS => sub { $_[0]->_refuse_uploads($_[1]) },
    HOOK_DATA       => sub { },
    UPLOAD_HOOK     => sub { },
);

# new($r, POST_MAX => bytes, DISABLE_UPLOADS => 1, TEMP_DIR => folder, ...)
sub new {
    my ($class, $r, %option) = @_;
    my $self = $class->_new($r);
    return $self unless %option;
    for my $name (keys %option) {
        my $set = $OPTION{ uc $name } or die "Apache2::Request->new: there is no option $name; there are " . join(', ', sort keys %OPTION) . "\n";
        $self->$set($option{$name});
        $option{ uc $name } = $option{$name};
    }
    $self->upload_hook($option{UPLOAD_HOOK}, $option{HOOK_DATA}) if $option{UPLOAD_HOOK};
    return $self;
}

# The only object of the request. The first call makes it.
sub instance {
    my ($class, $r, @options) = @_;
    return APR::Request::_instance() || APR::Request::_instance($class->new($r, @options));
}

sub _upload { my ($self, $parts) = @_; return Apache2::Upload->of_upload($self, @$parts) }

1;
