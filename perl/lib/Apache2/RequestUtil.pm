package Apache2::RequestUtil;

# Further methods of a request. Most of them are XS (xs/api/request.c).

use strict;
use warnings;
use Apache2::RequestRec ();

package Apache2::RequestRec;

use strict;
use warnings;

sub get_server_name { my ($self) = @_; return $self->_server_name }

sub get_server_port { my ($self) = @_; return ($self->_addresses)[3] }

# The configured folder, or the one set for the request. Returns the previous value.
{
    my $configured = \&document_root;
    no warnings 'redefine';
    *document_root = sub {
        my $self  = shift;
        my $slots = $self->_slots;
        my $old   = $slots->{document_root} // $configured->($self);
        $slots->{document_root} = "$_[0]" if @_;
        return $old;
    };
}

# "404 Not Found"
sub Apache2::RequestUtil::get_status_line { my ($status) = @_; require Mehari::Reasons; return Mehari::Reasons::line($status) }

sub as_string {
    my ($self) = @_;
    my $text = $self->the_request . "\n";
    $self->headers_in->do(sub { $text .= "$_[0]: $_[1]\n"; 1 });
    $text .= "\n" . $self->protocol . ' ' . Apache2::RequestUtil::get_status_line($self->status) . "\n";
    for my $table ($self->headers_out, $self->err_headers_out) { $table->do(sub { $text .= "$_[0]: $_[1]\n"; 1 }) }
    return "$text\n";
}

# The whole file; dies with an APR::Error.
sub slurp_filename {
    my ($self, $tainted) = @_;
    my $name = $self->filename;
    open my $in, '<:raw', $name or do { require APR::Error; APR::Error::throw($! + 0, "slurp_filename('$name') / opening") };
    local $/;
    my $text = <$in>;
    close $in;
    $text = '' unless defined $text;
    return \$text;
}

sub set_basic_credentials {
    my ($self, $user, $password) = @_;
    require MIME::Base64;
    $self->headers_in->set(Authorization => 'Basic ' . MIME::Base64::encode_base64("$user:$password", ''));
    return;
}

# The front enforces the limit and has refused larger bodies.
sub get_limit_req_body { return 0 }

# Adds configuration for the rest of the request.
sub add_config { my ($self, $lines) = @_; require Mehari::RequestConfiguration; return Mehari::RequestConfiguration::apply($self, $lines) }

sub psignature { my ($self, $prefix) = @_; return '' }

sub register_auth_provider { CORE::die "Apache2::RequestRec::register_auth_provider: use PerlAuthenHandler and PerlAuthzHandler\n" }

# Apache2::RequestRec->new($c): another request of the connection, as for `/`.
sub new {
    my ($class, $connection) = @_;
    require Apache2::SubRequest;
    return $connection->{r}->lookup_uri('/');
}

1;
