// In the place of vta.cc where no layer runs on a VTA (see interface.cc).

struct Vta {};
struct VtaContext {};

inline const relay_vta_params* needed_vta() { return nullptr; }
inline relay_status open_vta(Vta*, const relay_open_options&, const unsigned char*, const relay_allocator&) {
  return RELAY_OK;
}
inline void close_vta(Vta*) {}
inline bool create_vta_context(VtaContext*, Vta*, const relay_allocator&) { return true; }
inline void free_vta_context(VtaContext*, const relay_allocator&) {}
