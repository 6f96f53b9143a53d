package Shop::Controller::Root;
use Moose;
use namespace::autoclean;
BEGIN { extends 'Catalyst::Controller' }
__PACKAGE__->config(namespace => '');

sub index : Path : Args(0) { my ($self, $c) = @_; $c->response->content_type('text/plain'); $c->response->body('the shop at ' . $c->request->base->path) }
sub item : Local : Args(1) { my ($self, $c, $id) = @_; $c->stash(id => $id); $c->response->body("<p>item $id of " . $c->uri_for('/item', $id)->path . '</p>') }
sub base : Chained('/') : PathPart('order') : CaptureArgs(1) { my ($self, $c, $number) = @_; $c->stash(order => $number) }
sub show : Chained('base') : PathPart('') : Args(0) { my ($self, $c) = @_; $c->response->body('order ' . $c->stash->{order}) }
sub add : Local {
    my ($self, $c) = @_;
    $c->response->cookies->{last} = { value => $c->request->params->{what} };
    $c->response->redirect($c->uri_for('/basket'), 303);
}
sub basket : Local { my ($self, $c) = @_; my $last = $c->request->cookie('last'); $c->response->content_type('text/plain'); $c->response->body($last ? $last->value : 'nothing') }
sub upload : Local { my ($self, $c) = @_; my $u = $c->request->upload('file'); $c->response->body(join ' ', $u->filename, $u->size, $u->type) }
sub wrong : Local { die "an error of the shop\n" }
sub default : Path { my ($self, $c) = @_; $c->response->status(404); $c->response->body('no such page in the shop') }
__PACKAGE__->meta->make_immutable;
1;
