package Apache2::RequestUtil;

# Adds further methods to `$r`. Most of them are XS (xs/api/request.c).

use strict;
use warnings;
use Apache2::RequestRec ();

package Apache2::RequestRec;

use strict;
use warnings;

sub get_server_name { my ($self) = @_; return $self->_server_name }

sub get_server_port { my ($self) = @_; return ($self->_addresses)[3] }

# Returns the document root: the configured folder, or the folder that was set for this request. An
# argument sets it for this request.
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

# Returns a status with its reason phrase, such as "404 Not Found".
sub Apache2::RequestUtil::get_status_line { my ($status) = @_; require Mehari::Reasons; return Mehari::Reasons::line($status) }

sub as_string {
    my ($self) = @_;
    my $text = $self->the_request . "\n";
    $self->headers_in->do(sub { $text .= "$_[0]: $_[1]\n"; 1 });
    $text .= "\n" . $self->protocol . ' ' . ($self->status_line // '(null)') . "\n";
    for my $table ($self->headers_out, $self->err_headers_out) { $table->do(sub { $text .= "$_[0]: $_[1]\n"; 1 }) }
    return "$text\n";
}

# Returns a reference to the whole content of the request's file. Dies with an APR::Error.
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

# Always returns 0. The front enforces the limit: it has refused larger bodies before.
sub get_limit_req_body { return 0 }

# Adds lines of configuration for the rest of the request.
sub add_config { my ($self, $lines) = @_; require Mehari::RequestConfiguration; return Mehari::RequestConfiguration::apply($self, $lines) }

sub psignature { my ($self, $prefix) = @_; return '' }

sub register_auth_provider { CORE::die "Apache2::RequestRec::register_auth_provider: use PerlAuthenHandler and PerlAuthzHandler\n" }

# Apache2::RequestRec->new($c) returns a sub-request for `/` on the connection.
sub new {
    my ($class, $connection) = @_;
    require Apache2::SubRequest;
    return bless $connection->{r}->lookup_uri('/'), __PACKAGE__;
}

1;

__END__

=head1 NAME

Apache2::RequestUtil - handlers, variables and notes of a request

=head1 SYNOPSIS

    use Apache2::RequestUtil ();

    sub handler {
        my $r = shift;
        my $folder = $r->dir_config('UploadFolder');    # PerlSetVar UploadFolder /srv/uploads
        $r->pnotes(form => { name => 'Ann' });
        $r->push_handlers(PerlCleanupHandler => sub { unlink "$folder/part"; return 0 });
        $r->no_cache(1);
        return 0;
    }

=head1 DESCRIPTION

Loading this module adds methods to L<Apache2::RequestRec>. The module itself has two functions.

=head1 CLASS METHODS

=over 4

=item request

Returns the request that is being served. Dies outside of a request, except in void context.

=item get_status_line(STATUS)

A function. Returns the status with its reason phrase, such as C<404 Not Found>. For an unknown
status it returns C<500 Internal Server Error>.

=back

=head1 METHODS OF THE REQUEST

=over 4

=item dir_config([NAME, [VALUE]])

Returns the variables of PerlSetVar and PerlAddVar as an L<APR::Table>, or the first value of a
NAME. A new VALUE is valid for the rest of the request. The VALUE undef removes the variable.

=item push_handlers(PHASE, HANDLERS), set_handlers(PHASE, HANDLERS)

C<push_handlers> adds handlers to a phase of this request. C<set_handlers> replaces the handlers of
a phase, or removes them if HANDLERS is undef. A handler is a name or a code reference. Several
handlers are given as an array reference. Both return true. For an unknown phase they return false
and write a line to the error log. They die for a value that is no handler.

=item get_handlers(PHASE)

Returns an array reference of the handlers of a phase. A handler is a code reference if its name can
be loaded, else the name.

=item pnotes([NAME, [VALUE]])

Returns or sets a note, which may be any value and lasts until the end of the request. Without a
NAME, it returns the hash of all notes. It keeps a new VALUE itself and not a copy, and returns the
VALUE.

=item pnotes_kill

Removes all notes of C<pnotes>.

=item no_cache([FLAG])

If FLAG is true, it sets Pragma, Cache-Control and Expires so that no cache stores the response. If
FLAG is false, it removes Pragma and Cache-Control. Returns the old flag.

=item is_initial_req

Returns false in a sub-request and after an internal redirect, else true.

=item is_perl_option_enabled(NAME)

Returns whether PerlOptions turns on NAME for this request: ParseHeaders, SetupEnv, GlobalRequest or
MergeHandlers. Dies for any other name.

=item location

Returns the path of the C<< <Location> >> section of the request.

=item location_merge(PATH)

Applies the configuration of another location to the request. Returns whether there is such a
location.

=item document_root([FOLDER])

Gets or sets the folder of the site. A new value is valid for this request only. It does not change
where the server looks for files: a PerlTransHandler sets C<filename> for this.

=item get_server_name, get_server_port

Return the name of the server for this request, and the port of the connection.

=item add_config(LINES)

Adds lines of configuration (text, or an array reference) for the rest of the request:
PerlSetVar, PerlAddVar, PerlSetEnv, SetEnv, SetHandler, ForceType, ErrorDocument, AuthName,
AuthType, and handlers of later phases. Dies for any other line.

=item as_string

Returns the request line, the fields of the request, the status and the fields of the response, as
text.

=item slurp_filename

Returns a reference to the whole content of the request's file. Dies with an L<APR::Error> if the
file cannot be read.

=item set_basic_credentials(USER, PASSWORD)

Sets the field Authorization of the request.

=item child_terminate

Replaces this worker (the process that runs the Perl code) after the request.

=item new(CONNECTION)

A class method. Returns a sub-request for C</> on a connection.

=item get_limit_req_body

Always returns 0, because the front (the process that owns the connections) has already refused
bodies that are too large.

=item psignature(PREFIX)

Always returns the empty text.

=item register_auth_provider

Dies. Use PerlAuthenHandler and PerlAuthzHandler, or the directive PerlAddAuthnProvider.

=back

=head1 DIFFERENCES

C<< Apache2::RequestUtil->request >> works with and without C<PerlOptions +GlobalRequest>.
C<get_handlers> returns an empty array where mod_perl returns undef. C<add_config> cannot change
what the front has decided, such as Options or Require. C<slurp_filename> never taints its
result.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<Apache2::RequestIO>, F<docs/reference/phases.md>,
F<docs/reference/modperl.md>.

=cut
